// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
)

// OperatorNamespace is the namespace of the Secrets of static-host-operator.
const OperatorNamespace = "static-host-operator"

// OperatorExecutable is the package of static-host-operator.
const OperatorExecutable = "./cmd/static-host-operator"

// InstallStatic installs StaticHosts and makes the namespace of the operator.
func (i *Inventory) InstallStatic(ctx context.Context) error {
	_, err := envtest.InstallCRDs(i.Cluster.Config, envtest.CRDInstallOptions{
		ErrorIfPathMissing: true, Paths: []string{filepath.Join(landscape.Root(), "charts", "static-host-operator", "crds")},
	})
	if err != nil {
		return fmt.Errorf("install StaticHosts: %w", err)
	}
	return i.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: OperatorNamespace}})
}

// StaticOperator is static-host-operator from a folder for the hosts of a namespace, which is not started. It looks at hosts often, so that
// what is watched happens soon.
func (i *Inventory) StaticOperator(executables, name, namespace string, args ...string) *landscape.Process {
	return i.process(name, filepath.Join(executables, filepath.Base(OperatorExecutable)), slices.Concat([]string{
		"--namespaces=" + namespace, "--secret-namespace=" + OperatorNamespace, "--leader-election=false",
		"--metrics-bind-address=0", "--health-bind-address=0", "--refresh-interval=3s", "--min-back-off=1s", "--max-back-off=4s",
		"--max-concurrent-hosts=32", "--log-level=debug",
	}, args)...)
}

// RegisterHost makes a StaticHost for a host, which can be changed before, with a Secret for SSH of its own.
func (i *Inventory) RegisterHost(ctx context.Context, h *statichosts.Host, namespace string, labels map[string]string,
	change func(*v1alpha1.StaticHost, *corev1.Secret)) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: h.Name, Namespace: OperatorNamespace},
		Data:       map[string][]byte{v1alpha1.KeyPrivateKey: h.PrivateKey},
	}
	host := &v1alpha1.StaticHost{
		ObjectMeta: metav1.ObjectMeta{Name: h.Name, Namespace: namespace, Labels: labels},
		Spec: v1alpha1.StaticHostSpec{
			Address: h.Address.String(), Port: int32(h.Port), HostKeys: h.HostKeys, // #nosec G115 -- a port
			SSHSecretRef: v1alpha1.LocalReference{Name: secret.Name},
		},
	}
	if change != nil {
		change(host, secret)
	}
	if err := i.Client.Create(ctx, secret); err != nil {
		return err
	}
	return i.Client.Create(ctx, host)
}

// StaticHost reads a StaticHost.
func (i *Inventory) StaticHost(ctx context.Context, namespace, name string) (*v1alpha1.StaticHost, error) {
	host := &v1alpha1.StaticHost{}
	return host, i.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, host)
}

// WaitForPhase waits until StaticHosts are in a phase.
func (i *Inventory) WaitForPhase(ctx context.Context, timeout time.Duration, phase v1alpha1.Phase, namespace string,
	names ...string) error {
	return until(ctx, timeout, fmt.Sprintf("hosts %v are %s", names, phase), func(ctx context.Context) (bool, error) {
		for _, name := range names {
			if host, err := i.StaticHost(ctx, namespace, name); err != nil || host.Status.Phase != phase {
				return false, err
			}
		}
		return true, nil
	})
}
