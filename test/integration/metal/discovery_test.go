// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metaldiscovery "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/discovery"
	metalinventories "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Discovery", func() {
	DescribeTable("should write a CloudProfile that admission accepts, and find its drift",
		func(ctx SpecContext, kind v1alpha1.MetalInventory) {
			r := newRoom(ctx, kind, 2)
			s := r.site(ctx)
			s.Profile.Zones = nil
			discover := func(s *site.Site) discovery.Discovered {
				return discovery.OfSite(ctx, platform.Registry[platform.Discovery]{
					v1alpha1.PlatformMetal: metaldiscovery.New(newSessions(), metalinventories.Open),
				}, s, discovery.Timeout)
			}
			found := discover(s)
			Expect(found.Err).NotTo(HaveOccurred())
			Expect(found.Offer.Objects).To(ContainElement(And(HaveField("Kind", platform.KindHosts),
				HaveField("Labels", And(HaveKeyWithValue(rackLabel, r.rack), HaveKeyWithValue("size", "s"))),
				HaveField("Count", 2), HaveField("CPUs", BeNumerically(">", 0)), HaveField("Memory", BeNumerically(">", 0)))))
			AddReportEntry("left out", found.Offer.Omitted)

			profile, err := discovery.Propose(&gardencorev1beta1.CloudProfile{}, []discovery.Discovered{found})
			Expect(err).NotTo(HaveOccurred())
			config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry("CloudProfile", string(profile.Spec.ProviderConfig.Raw))
			compare := func() []discovery.Difference {
				return discovery.Compare(found.Discovery.References, &profile.Spec, config, "racks", &found.Offer)
			}
			Expect(discovery.HasDrift(compare())).To(BeFalse(), "%v", compare())

			config.MachineTypes = append(config.MachineTypes,
				v1alpha1.MachineType{Name: "big", Sites: []v1alpha1.SiteMachineType{{Name: "racks",
					Metal: &v1alpha1.MetalMachineType{HostSelector: matching(rackLabel, r.rack)}}}},
				v1alpha1.MachineType{Name: "none", Sites: []v1alpha1.SiteMachineType{{Name: "racks",
					Metal: &v1alpha1.MetalMachineType{HostSelector: matching(rackLabel, "nowhere")}}}})
			profile.Spec.MachineTypes = append(profile.Spec.MachineTypes, gardencorev1beta1.MachineType{Name: "big",
				CPU: resource.MustParse("10k"), Memory: resource.MustParse("1Gi")})
			Expect(compare()).To(ContainElements(
				And(HaveField("Entry", "machine type big"), HaveField("State", v1alpha1.DifferenceChanged),
					HaveField("Is", ContainSubstring("2 of 2 hosts have less"))),
				And(HaveField("Entry", "machine type none"), HaveField("State", v1alpha1.DifferenceMissing))))

			s.Credentials = site.Credentials{"token": "wrong"}
			Expect(discover(s).Err).To(MatchError(ContainSubstring(`site "racks"`)))
		},
		Entry("with Metal3", v1alpha1.MetalInventoryMetal3),
		Entry("with IronCore", v1alpha1.MetalInventoryIronCore),
	)
})
