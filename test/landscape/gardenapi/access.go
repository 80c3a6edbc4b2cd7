// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package gardenapi

import (
	"context"
	"path/filepath"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// admissionAccount is the service account of the admission component. It has the roles of both charts, as it keeps its certificates in the
// garden, too.
const admissionAccount = "gardener-extension-admission-hybrid"

var admissionUser = serviceaccount.MakeUsername(webhookNamespace, admissionAccount)

// audit lets kube-apiserver, which does not run yet, log what the admission component asks for.
func (g *Garden) audit(dir string) error {
	g.auditLog = filepath.Join(dir, "audit.log")
	args, err := landscape.Audited{Users: []string{admissionUser}}.Args(dir, g.auditLog)
	if err != nil {
		return err
	}
	server := g.environment.ControlPlane.GetAPIServer().Configure()
	for _, arg := range args {
		key, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		server.Set(key, value)
	}
	return nil
}

// access returns the admission component's kubeconfig, and creates its roles.
func (g *Garden) access(ctx context.Context, c client.Client) ([]byte, error) {
	for chart, values := range map[string]map[string]any{
		"application": {"gardener": map[string]any{"virtualCluster": map[string]any{
			"serviceAccount": map[string]any{"name": admissionAccount, "namespace": webhookNamespace},
		}}},
		"runtime": nil,
	} {
		folder := filepath.Join(landscape.Root(), "charts", admissionAccount, "charts", chart)
		rendered, err := rendering.Packed(folder, "admission", webhookNamespace, values)
		if err != nil {
			return nil, err
		}
		objects, err := rendering.Objects(rendered)
		if err != nil {
			return nil, err
		}
		if err := landscape.CreateRoles(ctx, c, objects); err != nil {
			return nil, err
		}
	}
	user, err := g.environment.ControlPlane.AddUser(envtest.User{Name: admissionUser}, rest.CopyConfig(g.Config))
	if err != nil {
		return nil, err
	}
	return user.KubeConfig()
}

// Unused are the permissions of the admission component that it had no use for until now. An error names requests that are forbidden.
func (g *Garden) Unused(ctx context.Context) ([]rbacaudit.Permission, error) {
	return landscape.Unused(ctx, g.Client, g.auditLog, admissionUser)
}
