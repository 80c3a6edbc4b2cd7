// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	vspherediscovery "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

var _ = Describe("Discovery", Ordered, func() {
	var (
		found   []discovery.Discovered
		profile *gardencorev1beta1.CloudProfile
		config  *v1alpha1.CloudProfileConfig
	)

	discover := func(ctx SpecContext, password string) []discovery.Discovered {
		return discovery.OfSites(ctx, platform.Registry[platform.Discovery]{v1alpha1.PlatformVSphere: vspherediscovery.New(newSessions())},
			[]site.Site{{
				Name: "vc", Platform: v1alpha1.PlatformVSphere, Credentials: site.Credentials{"username": vcenter.Username, "password": password},
				Profile: &v1alpha1.CloudProfileSite{Name: "vc", TLS: &v1alpha1.TLS{CACert: server.CA},
					VSphere: &v1alpha1.VSphereProfile{Server: "https://" + server.Address}},
			}}, discovery.Timeout)
	}
	compare := func(config *v1alpha1.CloudProfileConfig) []discovery.Difference {
		return discovery.Compare(found[0].Discovery.References, &profile.Spec, config, "vc", &found[0].Offer)
	}

	It("should write a CloudProfile that admission accepts, of a vCenter of which only the address is known", func(ctx SpecContext) {
		count(ctx)
		found = discover(ctx, vcenter.Password)
		Expect(found[0].Err).NotTo(HaveOccurred())
		requests := count(ctx)
		AddReportEntry("requests", requests)
		AddReportEntry("left out", found[0].Offer.Omitted)
		Expect(requests).To(HaveKeyWithValue("vim25 CreateContainerView", 1))
		Expect(requests["vim25 RetrievePropertiesEx"]).To(BeNumerically("<=", 2))

		var err error
		profile, err = discovery.Propose(&gardencorev1beta1.CloudProfile{}, found)
		Expect(err).NotTo(HaveOccurred())
		config, err = codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("CloudProfile", string(profile.Spec.ProviderConfig.Raw))
	})

	It("should have what the vCenter has", func() {
		Expect(config.Sites[0].VSphere.Datacenter).To(Equal("DC0"))
		Expect(config.Sites[0].Zones).To(ContainElements(
			HaveField("VSphere.ComputeCluster", "DC0_C0"),
			And(HaveField("VSphere.ComputeCluster", "DC1_C0"), HaveField("VSphere.Datacenter", "DC1"))))
		Expect(config.Sites[0].Zones).To(HaveEach(HaveField("VSphere.Datastore", Not(BeEmpty()))))
		Expect(profile.Spec.MachineTypes).NotTo(BeEmpty())
		Expect(profile.Spec.VolumeTypes).NotTo(BeEmpty())
		Expect(found[0].Offer.Objects).To(ContainElements(
			And(HaveField("Kind", platform.KindImage), HaveField("Name", ContainSubstring(vcenter.Template))),
			And(HaveField("Kind", platform.KindNetwork), HaveField("Name", "/DC0/network/DC0_DVPG0")),
			And(HaveField("Kind", platform.KindDatastore), HaveField("Name", "/DC0/datastore/LocalDS_0"))))
		Expect(found[0].Offer.Objects).NotTo(ContainElement(HaveField("Name", ContainSubstring("DVUplinks"))))
	})

	It("should find no drift in it, and each change of what it says", func() {
		Expect(discovery.HasDrift(compare(config))).To(BeFalse(), "%v", compare(config))
		changed := config.DeepCopy()
		changed.Sites[0].Zones[0].VSphere.ComputeCluster = "nowhere"
		changed.Sites[0].Zones[1].VSphere.Datastore = "gone"
		changed.Sites[0].Zones[1].VSphere.Network = "lost"
		changed.VolumeTypes[0].Sites[0].VSphere.StoragePolicy = "platinum"
		changed.MachineImages = []v1alpha1.MachineImage{{Name: "x", Versions: []v1alpha1.MachineImageVersion{{Version: "1.0.0",
			CapabilityFlavors: []v1alpha1.MachineImageFlavor{{Sites: []v1alpha1.SiteMachineImage{{Name: "vc",
				VSphere: &v1alpha1.VSphereImage{Template: "templates/none"}}}}}}}}}
		isMissing := func(kind, name string) OmegaMatcher {
			return And(HaveField("Kind", kind), HaveField("Name", name), HaveField("State", v1alpha1.DifferenceMissing), HaveField("Drift", true))
		}
		Expect(compare(changed)).To(ContainElements(
			isMissing("zone", "/DC0/host/nowhere"), isMissing("datastore", "/DC0/datastore/gone"), isMissing("network", "/DC0/network/lost"),
			isMissing("volume type", "platinum"), isMissing("image", "/DC0/vm/templates/none")))
	})

	It("should tell what the vCenter does not list, and a vCenter that refuses the login", func(ctx SpecContext) {
		disturb(ctx, control.Settings{Faults: []control.Fault{{Method: "RetrievePropertiesEx", Type: "NoPermission", Times: 1}}})
		limited := discover(ctx, vcenter.Password)
		Expect(limited[0].Err).NotTo(HaveOccurred())
		Expect(limited[0].Offer.Incomplete(platform.KindZone)).To(BeTrue())
		Expect(discover(ctx, "wrong")[0].Err).To(MatchError(ContainSubstring(`site "vc"`)))
	})
})
