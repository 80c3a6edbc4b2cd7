// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// The service accounts of the driver with its sidecars and of the snapshot controller.
const driverAccount, snapshotAccount = "csi-cinder-controller", "csi-snapshot-controller"

var (
	// auditLog is the path of the log of what they ask for.
	auditLog string
	// kubeconfigs are the paths of their kubeconfigs.
	kubeconfigs = map[string]string{}
)

func user(account string) string {
	return serviceaccount.MakeUsername(metav1.NamespaceSystem, account)
}

// grant gives the processes the permissions of the charts.
func grant(ctx context.Context) {
	GinkgoHelper()
	var sites []any
	for name := range clouds {
		sites = append(sites, map[string]any{"name": name, "secret": "csi-cinder-" + name})
	}
	rendered, err := rendering.Chart("shoot-system-components", metav1.NamespaceSystem, map[string]any{
		"csi-cinder": map[string]any{"enabled": true, "sites": sites}, "csi-snapshot-controller": map[string]any{"enabled": true},
	})
	Expect(err).NotTo(HaveOccurred())
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	Expect(landscape.CreateRoles(ctx, shoot, objects)).To(Succeed())
	for _, account := range []string{driverAccount, snapshotAccount} {
		Expect(shoot.Create(ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: metav1.NamespaceSystem}})).To(Succeed())
		kubeconfigs[account] = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(rendering.WriteKubeconfig(ctx, cluster.Config, metav1.NamespaceSystem, account, kubeconfigs[account])).To(Succeed())
	}
}
