// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"context"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Landscape", func() {
	It("should start a cluster that survives a crash of kube-apiserver", func() {
		binaries := landscape.DefaultBinaries()
		Expect(binaries.KubeAPIServer).To(BeAnExistingFile(), "hack/landscape/build.sh builds it")
		ctx := context.Background()
		l, err := landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: "shoot--test--landscape"})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(l.Stop)
		Expect(l.StartCluster(ctx)).To(Succeed())

		worker := &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "shoot--test--landscape"}}
		Expect(client.IgnoreNotFound(l.Client.Get(ctx, client.ObjectKeyFromObject(worker), worker))).To(Succeed())

		l.Cluster.APIServer.Kill()
		Expect(l.Client.Get(ctx, client.ObjectKey{Name: "garden"}, &corev1.Namespace{})).NotTo(Succeed())
		Expect(l.Check()).To(Succeed())
		Expect(l.Cluster.APIServer.Start()).To(Succeed())
		Expect(l.Cluster.WaitReady(ctx)).To(Succeed())
		Expect(l.Client.Get(ctx, client.ObjectKey{Name: "garden"}, &corev1.Namespace{})).To(Succeed())

		l.Stop()
		for _, p := range l.Processes() {
			Expect(p.Running()).To(BeFalse(), p.Name)
		}
	})

	It("should name every missing executable", func() {
		b := landscape.DefaultBinaries()
		b.MCM, b.Driver = "/missing/mcm", "/missing/driver"
		Expect(b.Check()).To(MatchError(And(ContainSubstring("/missing/mcm"), ContainSubstring("/missing/driver"),
			ContainSubstring("hack/landscape/build.sh"))))
	})
})
