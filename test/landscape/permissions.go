// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	// extensionName is the name of the extension's binary, chart and ServiceAccount.
	extensionName = "gardener-extension-provider-hybrid"
	extensionUser = "system:serviceaccount:" + extensionNamespace + ":" + extensionName
)

// access is what the extension may do in the cluster, and what it asked for.
type access struct {
	// kubeconfig is the path of its kubeconfig.
	kubeconfig string
	// log is the path of the audit log.
	log string
}

// newAccess prepares the extension's access to a cluster that was not started yet.
func newAccess(dir string, c *Cluster, audited ...string) (access, error) {
	a := access{kubeconfig: filepath.Join(dir, "extension.kubeconfig"), log: filepath.Join(dir, "logs", "extension-audit.log")}
	return a, c.Audit(a.log, append([]string{extensionUser}, audited...)...)
}

// grant creates the roles of the extension's chart and writes its kubeconfig.
func (a access) grant(ctx context.Context, cluster *Cluster, c client.Client) error {
	objects, err := chartObjects()
	if err != nil {
		return err
	}
	if err := CreateRoles(ctx, c, objects); err != nil {
		return err
	}
	pair, err := cluster.ClientCertificate(extensionUser)
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	if err != nil {
		return err
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{extensionName: {
		ClientCertificateData: []byte(pair.Certificate), ClientKeyData: []byte(pair.Key),
	}}
	config.Contexts[config.CurrentContext].AuthInfo = extensionName
	return clientcmd.WriteToFile(*config, a.kubeconfig)
}

// CreateRoles creates the service accounts of charts, their roles and the bindings.
func CreateRoles(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GetKind() != "ServiceAccount" && o.GroupVersionKind().Group != rbacv1.GroupName {
			continue
		}
		if err := c.Create(ctx, o); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Unused are the permissions that a user has in a cluster by its roles and had no use for until now, as an audit log tells. An error names
// requests that are forbidden.
func Unused(ctx context.Context, c client.Client, log, user string) ([]rbacaudit.Permission, error) {
	bindings, err := rbacaudit.Bindings(ctx, c)
	if err != nil {
		return nil, err
	}
	permissions, err := rbacaudit.Granted(bindings, user)
	if err != nil {
		return nil, err
	}
	if len(permissions) == 0 {
		return nil, fmt.Errorf("%s has no roles", user)
	}
	requests, err := rbacaudit.ReadFile(log, user)
	if err != nil {
		return nil, err
	}
	refused, err := rbacaudit.Refused(ctx, c, user, requests)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("%s may not %v", user, refused)
	}
	return rbacaudit.Unused(permissions, requests), nil
}

// Refused are the requests of a service account until now that were forbidden and would be again, as an audit log tells. It is an error if
// there are no requests at all: then nothing was logged.
func Refused(ctx context.Context, c client.Writer, log, user string) ([]rbacaudit.Request, error) {
	requests, err := rbacaudit.ReadFile(log, user)
	if err != nil {
		return nil, err
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("audit log: nothing is in it of %s", user)
	}
	return rbacaudit.Refused(ctx, c, user, requests)
}

// requests are what the extension asked for until now.
func (a access) requests() ([]rbacaudit.Request, error) {
	requests, err := rbacaudit.ReadFile(a.log, extensionUser)
	if errors.Is(err, fs.ErrNotExist) { // nothing yet
		return nil, nil
	}
	return requests, err
}

// check returns an error that names the requests that the extension has no permission for.
func (a access) check() error {
	requests, err := a.requests()
	if err != nil {
		return err
	}
	if forbidden := rbacaudit.Forbidden(requests); len(forbidden) > 0 {
		return fmt.Errorf("the chart does not allow the extension to %v", forbidden)
	}
	return nil
}

func chartObjects() ([]*unstructured.Unstructured, error) {
	rendered, err := rendering.Packed(filepath.Join(Root(), "charts", extensionName), extensionName, extensionNamespace, nil)
	if err != nil {
		return nil, err
	}
	return rendering.Objects(rendered)
}

// UnusedPermissions are the permissions in the extension's chart that it had no use for until now.
func (l *Landscape) UnusedPermissions() ([]rbacaudit.Permission, error) {
	objects, err := chartObjects()
	if err != nil {
		return nil, err
	}
	permissions, err := rbacaudit.Permissions(objects)
	if err != nil {
		return nil, err
	}
	requests, err := l.access.requests()
	if err != nil {
		return nil, err
	}
	return rbacaudit.Unused(permissions, requests), nil
}

// Unused is Unused for a user in Options.Audited.
func (l *Landscape) Unused(ctx context.Context, user string) ([]rbacaudit.Permission, error) {
	return Unused(ctx, l.Client, l.access.log, user)
}

// Refused is Refused for a user in Options.Audited.
func (l *Landscape) Refused(ctx context.Context, user string) ([]rbacaudit.Request, error) {
	return Refused(ctx, l.Client, l.access.log, user)
}
