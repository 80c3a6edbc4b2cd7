// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	return everywhere.Args(dir, g.auditPath(name))
}

func (g *Garden) auditPath(name string) string {
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

// auditLog is what a kube-apiserver has logged about requests.
type auditLog struct {
	cluster  string
	client   client.Client
	accounts []string
	read     func() (io.Reader, error)
}

// auditLogs are those of the virtual garden, the seeds that run, and the shoots whose machines are played.
func (g *Garden) auditLogs() []auditLog {
	logs := []auditLog{
		{cluster: virtualName, client: g.Client, accounts: ofVirtual, read: g.auditFile(virtualName)},
	}
	for _, seed := range g.seeds() {
		if seed.Client == nil || seed.dead {
			continue
		}
		logs = append(logs, auditLog{cluster: seed.Name, client: seed.Client, accounts: ofSeed, read: g.auditFile(seed.Name)})
		for _, namespace := range seed.played() {
			read := func() (io.Reader, error) { return seed.shootAuditLog(namespace) }
			logs = append(logs, auditLog{cluster: namespace, client: seed.ShootClient(namespace), accounts: ofShoot, read: read})
		}
	}
	return logs
}

func (g *Garden) auditFile(cluster string) func() (io.Reader, error) {
	return func() (io.Reader, error) {
		content, err := os.ReadFile(g.auditPath(cluster))
		return bytes.NewReader(content), err
	}
}

// shootAuditLog is what all pods of a shoot's kube-apiserver have logged about requests.
func (s *Seed) shootAuditLog(namespace string) (io.Reader, error) {
	files, err := filepath.Glob(filepath.Join(s.garden.nodeDir(s.Name), "logs", namespace,
		v1beta1constants.DeploymentNameKubeAPIServer+"-*-"+apiServerImage+".log"))
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

// requests are what our executables asked for until now, by the names of users. It is an error if there are none: then nothing was logged.
func (l auditLog) requests() (map[string][]rbacaudit.Request, error) {
	content, err := l.read()
	if err != nil {
		return nil, fmt.Errorf("audit log of %s: %w", l.cluster, err)
	}
	requests, err := rbacaudit.ReadAll(content, func(user string) bool {
		_, account, err := serviceaccount.SplitUsername(user)
		return err == nil && slices.Contains(l.accounts, account)
	})
	if err == nil && len(requests) == 0 {
		err = fmt.Errorf("nothing is in it of %v", l.accounts)
	}
	if err != nil {
		return nil, fmt.Errorf("audit log of %s: %w", l.cluster, err)
	}
	return requests, nil
}

// refused are the requests that the cluster would refuse again.
func (l auditLog) refused(ctx context.Context) ([]string, error) {
	users, err := l.requests()
	if err != nil {
		return nil, err
	}
	var result []string
	for user, requests := range users {
		refused, err := rbacaudit.Refused(ctx, l.client, user, requests)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.cluster, err)
		}
		for _, request := range refused {
			result = append(result, fmt.Sprintf("%s: %s may not %s", l.cluster, user, request))
		}
	}
	return result, nil
}

// Forbidden are the requests of our executables that were refused, and that their permissions do not allow now either. If service accounts
// are given it is about them alone.
func (g *Garden) Forbidden(ctx context.Context, only ...string) ([]string, error) {
	var result []string
	for _, log := range g.auditLogs() {
		if len(only) > 0 {
			log.accounts = slices.DeleteFunc(slices.Clone(log.accounts), func(account string) bool { return !slices.Contains(only, account) })
		}
		if len(log.accounts) == 0 {
			continue
		}
		refused, err := log.refused(ctx)
		if err != nil {
			return nil, err
		}
		result = append(result, refused...)
	}
	slices.Sort(result)
	return result, nil
}
