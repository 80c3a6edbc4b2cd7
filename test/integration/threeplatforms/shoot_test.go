// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// The specs of this container are in several files; what they need of each other is in its order.
var _ = Describe("A shoot on OpenStack, vSphere and bare metal", Ordered, func() {
	It("should have one pool with machines on all of them", func(ctx SpecContext) {
		infrastructure, err := local.Infrastructure()
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, infrastructure)).To(Succeed())
		Expect(infrastructure.Status.Networking.Nodes).To(Equal([]string{"10.250.0.0/22", "10.250.4.0/22", "10.250.8.0/22", "10.250.12.0/22"}))
		created, err := local.Worker(infrastructure)
		Expect(err).NotTo(HaveOccurred())
		mixedIn(created).ProviderConfig = &runtime.RawExtension{Raw: []byte(`{
			"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"WorkerConfig",
			"sites":[{"name":"vc","vsphere":{"antiAffinity":true}}]}`)}
		Expect(local.Create(ctx, created)).To(Succeed())

		for zone, prefix := range map[string]string{cloud: "openstack:///", vc: "vsphere://", rack: "metal3://hosts/rack-1-s-",
			hall: "ironcore-metal://hosts/"} {
			specs.ExpectRunning(ctx, mixed(), zone, 1, inTime)
			Expect(specs.Identities(ctx, mixed(), zone)).To(HaveEach(HavePrefix(prefix)))
		}
		specs.ExpectRunning(ctx, burst(), "", 0, inTime)
	}, SpecTimeout(8*time.Minute))

	It("should tell the cluster-autoscaler sizes and priorities", func(ctx SpecContext) {
		for zone, priority := range map[string]int32{rack: 100, cloud: 10} {
			deployment, err := burst().Deployment(ctx, zone)
			Expect(err).NotTo(HaveOccurred())
			Expect(worker(ctx).Status.MachineDeployments).To(ContainElement(extensionsv1alpha1.MachineDeployment{
				Name: deployment.Name, Minimum: 0, Maximum: 6, Priority: &priority,
			}))
		}
	}, SpecTimeout(2*time.Minute))

	It("should have nodes that say where they are", func(ctx SpecContext) {
		for zone, of := range map[string]struct {
			site     string
			platform v1alpha1.Platform
		}{
			cloud: {"cloud", v1alpha1.PlatformOpenStack}, vc: {"vc", v1alpha1.PlatformVSphere},
			rack: {"racks", v1alpha1.PlatformMetal}, hall: {"hall", v1alpha1.PlatformMetal},
		} {
			for name := range specs.Identities(ctx, mixed(), zone) {
				Eventually(func(g Gomega) {
					node := &corev1.Node{}
					g.Expect(local.Seed.Client.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
					g.Expect(node.Labels).To(And(HaveKeyWithValue(v1alpha1.LabelSite, of.site),
						HaveKeyWithValue(v1alpha1.LabelPlatform, string(of.platform))))
				}).WithContext(ctx).Within(2 * time.Minute).Should(Succeed())
			}
		}
	}, SpecTimeout(4*time.Minute))

	It("should leave no token valid that is in the user data of a machine whose node has joined", func(ctx SpecContext) {
		// machine-controller-manager creates one for each machine, as the spec of slow hosts shows.
		Eventually(func(g Gomega) {
			tokens := &corev1.SecretList{}
			g.Expect(local.Seed.Client.List(ctx, tokens, client.InNamespace(metav1.NamespaceSystem))).To(Succeed())
			g.Expect(tokens.Items).NotTo(ContainElement(HaveField("Type", corev1.SecretTypeBootstrapToken)))
		}).WithContext(ctx).Within(time.Minute).Should(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("should let machines of each site have the time that the site gives them", func(ctx SpecContext) {
		for zone, timeout := range map[string]time.Duration{cloud: 20 * time.Minute, vc: 20 * time.Minute, rack: time.Hour, hall: time.Hour} {
			machines, err := mixed().Machines(ctx, zone)
			Expect(err).NotTo(HaveOccurred())
			Expect(machines).To(HaveEach(HaveField("Spec.MachineConfiguration.MachineCreationTimeout.Duration", timeout)))
		}
	}, SpecTimeout(2*time.Minute))

	copySpecs()
	fillingSpecs()
	slowSpecs()
	cleaningSpecs()
	outageSpecs()
	suite.Nightly("with a vCenter that is disturbed", vCenterSpecs)
	suite.Nightly("with a Worker that changes", changeSpecs)
	suite.Nightly("with a driver that is killed", crashSpecs)
	moveSpecs()
	deletionSpecs()
})
