// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
)

const (
	// extensionName is the name of the extension's executable, image, Deployment and service account.
	extensionName = "gardener-extension-provider-hybrid"
	// mcmAccount is the service account of machine-controller-manager and our driver beside it. What it may do is not ours to say.
	mcmAccount = v1beta1constants.DeploymentNameMachineControllerManager

	auditFolder = "audit"
	auditPolicy = "audit-policy.yaml"
)

// everywhere are all service accounts of a cluster: those of extensions are in namespaces whose names nobody knows before.
var everywhere = landscape.Audited{Groups: []string{serviceaccount.AllServiceAccountsGroup}}

// ofShoot are the service accounts that processes of a shoot's control plane have in the shoot.
var ofShoot = landscape.Audited{Users: []string{
	shootUser(mcmAccount), shootUser("cloud-controller-manager"), shootUser("csi-cinder-controller"), shootUser("csi-snapshot-controller"),
	shootUser("local-volumes-controller"),
}}

func shootUser(account string) string {
	return serviceaccount.MakeUsername(metav1.NamespaceSystem, account)
}

// eventPrefix is what a line of an audit log begins with, as opposed to those of other logs.
var eventPrefix = []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/`)

// audit lets kube-apiserver of a cluster of the garden log requests.
func (g *Garden) audit(name string) ([]string, error) {
	dir := g.path(auditFolder, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return everywhere.Args(dir, g.auditLog(name))
}

func (g *Garden) auditLog(name string) string {
	return g.path(auditFolder, name, "audit.log")
}

// shootAPIServer is kube-apiserver of shoots, which logs requests among all else.
func (g *Garden) shootAPIServer(path string) (kubelet.Program, error) {
	policy := g.path(auditFolder, auditPolicy)
	return kubelet.Program{
		Path: path, Files: []string{policy},
		Args: []string{"--audit-policy-file=" + filepath.Join(kubelet.ProgramFolder, auditPolicy), "--audit-log-path=-"},
	}, ofShoot.WritePolicy(policy)
}

// requests are what our executables asked the kube-apiservers for until now, by the names of clusters and users.
func (g *Garden) requests() (map[string]map[string][]rbacaudit.Request, error) {
	result := map[string]map[string][]rbacaudit.Request{}
	for cluster, wanted := range map[string]func(account string) bool{
		virtualName: func(account string) bool { return account == admissionAccount },
		seedName: func(account string) bool {
			return slices.Contains([]string{extensionName, admissionName, mcmAccount}, account)
		},
	} {
		file, err := os.Open(g.auditLog(cluster))
		if err != nil {
			return nil, err
		}
		result[cluster], err = rbacaudit.ReadAll(file, func(user string) bool {
			_, account, err := serviceaccount.SplitUsername(user)
			return err == nil && wanted(account)
		})
		if err := file.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cluster, err)
		}
	}
	log, err := g.shootAuditLog()
	if err != nil {
		return nil, err
	}
	result[shootName], err = rbacaudit.ReadAll(log, func(string) bool { return true })
	return result, err
}

// shootAuditLog is what all pods of shoots' kube-apiservers have logged about requests.
func (g *Garden) shootAuditLog() (io.Reader, error) {
	files, err := filepath.Glob(g.path(nodeFolder, "logs", "*", "kube-apiserver-*-kube-apiserver.log"))
	if err != nil {
		return nil, err
	}
	result := &bytes.Buffer{}
	for _, path := range files {
		content, err := os.ReadFile(path) // #nosec G304 -- the garden's own logs
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(content) {
			if bytes.HasPrefix(line, eventPrefix) && bytes.HasSuffix(line, []byte("}\n")) {
				result.Write(line)
			}
		}
	}
	return result, nil
}

// Forbidden are the requests of our executables that their permissions do not allow.
func (g *Garden) Forbidden() ([]string, error) {
	clusters, err := g.requests()
	if err != nil {
		return nil, err
	}
	var result []string
	for cluster, users := range clusters {
		for user, requests := range users {
			for _, request := range rbacaudit.Forbidden(requests) {
				result = append(result, fmt.Sprintf("%s: %s may not %s", cluster, user, request))
			}
		}
	}
	return result, nil
}

// Unused are the permissions that our executables had no use for until now, and that no other suite shows to be used. The permissions
// must have been read before the shoot was deleted.
func (g *Garden) Unused(permissions Permissions) ([]string, error) {
	clusters, err := g.requests()
	if err != nil {
		return nil, err
	}
	var result []string
	for _, cluster := range slices.Sorted(maps.Keys(permissions)) {
		for _, user := range slices.Sorted(maps.Keys(permissions[cluster])) {
			for _, p := range rbacaudit.Unused(permissions[cluster][user], clusters[cluster][user]) {
				if rbacaudit.ShownBy(p) == "" {
					result = append(result, fmt.Sprintf("%s: %s has no use for %s", cluster, user, p))
				}
			}
		}
	}
	return result, nil
}

// Permissions reads what our executables are allowed in all clusters from the roles that their service accounts are bound to. The client
// accesses a shoot.
func (g *Garden) Permissions(ctx context.Context, shoot client.Client) (Permissions, error) {
	result := Permissions{}
	for cluster, in := range map[string]struct {
		client client.Client
		ours   func(account string) bool
	}{
		virtualName: {g.Client, func(account string) bool { return account == admissionAccount }},
		seedName:    {g.SeedClient, func(account string) bool { return account == extensionName || account == admissionName }},
		shootName:   {shoot, nil},
	} {
		roles, err := readRoles(ctx, in.client)
		if err != nil {
			return nil, fmt.Errorf("roles of %s: %w", cluster, err)
		}
		if result[cluster], err = roles.granted(in.ours); err != nil {
			return nil, fmt.Errorf("roles of %s: %w", cluster, err)
		}
	}
	return result, nil
}
