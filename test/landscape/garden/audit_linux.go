// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
)

const (
	auditFolder = "audit"
	auditPolicy = "audit-policy.yaml"
)

// everywhere are all service accounts of a cluster: those of extensions are in namespaces whose names nobody knows before.
var everywhere = landscape.Audited{Groups: []string{serviceaccount.AllServiceAccountsGroup}}

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

// shootAPIServer is kube-apiserver of shoots, which logs among all else what the control plane's processes ask for.
func (g *Garden) shootAPIServer(path string) (kubelet.Program, error) {
	policy, audited := g.path(auditFolder, auditPolicy), landscape.Audited{}
	for _, account := range ofShoot {
		audited.Users = append(audited.Users, serviceaccount.MakeUsername(metav1.NamespaceSystem, account))
	}
	return kubelet.Program{
		Path: path, Files: []string{policy},
		Args: []string{"--audit-policy-file=" + filepath.Join(kubelet.ProgramFolder, auditPolicy), "--audit-log-path=-"},
	}, audited.WritePolicy(policy)
}

// requests are what our executables asked the kube-apiserver of a cluster for until now, by the names of users.
func (g *Garden) requests(cluster string) (map[string][]rbacaudit.Request, error) {
	log, err := g.readAuditLog(cluster)
	if err != nil {
		return nil, err
	}
	return rbacaudit.ReadAll(log, func(user string) bool {
		_, account, err := serviceaccount.SplitUsername(user)
		return err == nil && slices.Contains(accounts[cluster], account)
	})
}

func (g *Garden) readAuditLog(cluster string) (io.Reader, error) {
	if cluster == shootName {
		return g.shootAuditLog()
	}
	content, err := os.ReadFile(g.auditLog(cluster))
	return bytes.NewReader(content), err
}

// shootAuditLog is what all pods of shoots' kube-apiservers have logged about requests.
func (g *Garden) shootAuditLog() (io.Reader, error) {
	files, err := filepath.Glob(g.path(nodeFolder, "logs", "*", v1beta1constants.DeploymentNameKubeAPIServer+"-*-"+apiServerImage+".log"))
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

// Forbidden are the requests of our executables that their permissions do not allow. If service accounts are given it is about them alone.
func (g *Garden) Forbidden(only ...string) ([]string, error) {
	var result []string
	for cluster := range accounts {
		users, err := g.requests(cluster)
		if err != nil {
			return nil, fmt.Errorf("audit log of %s: %w", cluster, err)
		}
		if len(users) == 0 {
			return nil, fmt.Errorf("audit log of %s: nothing is in it", cluster)
		}
		for user, requests := range users {
			_, account, err := serviceaccount.SplitUsername(user)
			if err != nil {
				return nil, err
			}
			if len(only) > 0 && !slices.Contains(only, account) {
				continue
			}
			for _, request := range rbacaudit.Forbidden(requests) {
				result = append(result, fmt.Sprintf("%s: %s may not %s", cluster, user, request))
			}
		}
	}
	return result, nil
}
