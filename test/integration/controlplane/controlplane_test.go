// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/controlplane/genericactuator"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// The storage classes of the sites that are their defaults, and the CSI drivers of the sites.
const (
	cloudClass, racksClass      = "cloud-standard", "racks-local"
	cinderDriver, vsphereDriver = "cinder.csi.openstack.org", "csi.vsphere.vmware.com"
	vsphereZone                 = "topology.csi.vmware.com/k8s-zone"
)

// The DaemonSets of the sites with their namespaces.
const (
	cinderNodes, vsphereNodes = "kube-system/csi-cinder-node-" + cloud, "kube-system/csi-vsphere-node-" + vc
	speakers                  = "metallb-" + racks + "/metallb-speaker"
)

// The specs of this container are in several files; what they need of each other is in its order.
var _ = Describe("The control plane of a shoot on OpenStack, vSphere and bare metal", Ordered, ContinueOnFailure, func() {
	var byHand *corev1.Node

	BeforeAll(func(ctx SpecContext) { byHand = joinByHand(ctx) }, NodeTimeout(2*time.Minute))

	It("should be applied as a whole, and be healthy", func(ctx SpecContext) {
		infrastructure, err := local.Infrastructure()
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, infrastructure)).To(Succeed())
		controlPlane, err := local.ControlPlaneObject(infrastructure)
		Expect(err).NotTo(HaveOccurred())
		controlPlane.Spec.ProviderConfig = shootNow(ctx).Spec.Provider.ControlPlaneConfig
		Expect(local.Create(ctx, controlPlane)).To(Succeed())
		worker, err := local.Worker(infrastructure)
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Create(ctx, worker)).To(Succeed())

		Expect(seedDeployments(ctx)).To(Equal(map[string]int32{
			manager: 1, cinder: 1, "csi-snapshot-controller": 1, "csi-vsphere-controller": 1, "local-volumes-controller": 1,
		}))
		Expect(applied(ctx)).To(ConsistOf(
			genericactuator.ControlPlaneSeedConfigurationChartResourceName, genericactuator.ControlPlaneSeedChartResourceName,
			genericactuator.ControlPlaneShootChartResourceName, genericactuator.ControlPlaneShootCRDsChartResourceName,
			genericactuator.StorageClassesChartResourceName,
		))
		running(ctx)
	}, SpecTimeout(8*time.Minute))

	It("should initialise the nodes of all sites", func(ctx SpecContext) {
		prefixes := map[string]string{cloud: "openstack:///", vc: "vsphere://", racks: "metal3://hosts/", hall: "ironcore-metal://hosts/"}
		for site, zone := range zones {
			ids := identities(ctx, zone)
			Expect(ids).To(HaveLen(1), site)
			for name, id := range ids {
				n := initialized(ctx, nodeOf(ctx, name))
				Expect(n.Spec.ProviderID).To(And(Equal(id), HavePrefix(prefixes[site])), site)
				Expect(n.Labels).To(And(
					HaveKeyWithValue(corev1.LabelTopologyZone, zone), HaveKeyWithValue(corev1.LabelTopologyRegion, "local"),
					HaveKeyWithValue(v1alpha1.LabelSite, site), HaveKeyWithValue(v1alpha1.LabelInitializedBy,
						site), HaveKey(corev1.LabelInstanceTypeStable),
				), site)
				if site == cloud || site == vc { // the hosts of the inventory report no addresses: nothing boots on them
					Eventually(func() []corev1.NodeAddress { return node(ctx, n.Name).Status.Addresses }).WithContext(ctx).Should(
						ContainElement(HaveField("Type", corev1.NodeInternalIP)), site)
				}
			}
		}
	}, SpecTimeout(10*time.Minute))

	It("should have one default storage class, that of the default site, and keep volumes at the sites of their classes",
		func(ctx SpecContext) {
			Expect(defaultClasses(ctx)).To(ConsistOf(cloudClass))
			list := &storagev1.StorageClassList{}
			Expect(c.List(ctx, list)).To(Succeed())
			Expect(list.Items).To(HaveLen(3))
			for _, class := range list.Items {
				Expect(class.VolumeBindingMode).To(HaveValue(Equal(storagev1.VolumeBindingWaitForFirstConsumer)), class.Name)
				Expect(class.AllowedTopologies).NotTo(BeEmpty(), class.Name)
				for _, term := range class.AllowedTopologies {
					// The zones of a vCenter have the site's tags, which no other site has.
					Expect(term.MatchLabelExpressions).To(ContainElement(Or(
						And(HaveField("Key", v1alpha1.LabelSite), HaveField("Values", HaveLen(1))),
						And(HaveField("Key", vsphereZone), HaveField("Values", ConsistOf(vcZone, "vc-2"))),
					)), class.Name)
				}
			}
		}, SpecTimeout(2*time.Minute))

	It("should run what a site needs on the nodes of that site alone, and leave a node joined by hand to others", func(ctx SpecContext) {
		want := map[string][]string{cinderNodes: nodesIn(ctx, cloudZone), vsphereNodes: nodesIn(ctx, vcZone), speakers: nodesIn(ctx, rackZone)}
		Eventually(places).WithContext(ctx).WithArguments(ctx).Should(Equal(want))
		Eventually(drivers).WithArguments(ctx, want[cinderNodes][0]).Should(ConsistOf(cinderDriver))
		Eventually(drivers).WithArguments(ctx, want[vsphereNodes][0]).Should(ConsistOf(vsphereDriver))

		expectBound(ctx, podOn(ctx, "on-by-hand", byHand.Name, ""), "")
		Consistently(func(g Gomega) {
			g.Expect(places(ctx)).To(Equal(want))
			now := node(ctx, byHand.Name)
			g.Expect(now).NotTo(BeNil())
			g.Expect(now.Spec).To(Equal(byHand.Spec))
			g.Expect(now.Labels).To(Equal(byHand.Labels))
		}).WithContext(ctx).WithTimeout(5 * time.Second).Should(Succeed())
		applied(ctx)
	}, SpecTimeout(6*time.Minute))

	volumeSpecs()
	accessSpecs()
	credentialSpecs()
	outageSpecs()
	siteSpecs()
	lifeSpecs()
})

var _ = AfterEach(func() {
	if local != nil && local.Seed != nil {
		Expect(local.Seed.Check()).To(Succeed())
	}
})
