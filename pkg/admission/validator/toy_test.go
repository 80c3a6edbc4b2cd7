// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"bytes"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

var _ = Describe("A CloudProfile with a site of a platform that only tests know", func() {
	var g *garden

	// add adds a site of the platform with a zone.
	add := func() {
		g.profile.Spec.Regions[0].Zones = append(g.profile.Spec.Regions[0].Zones, gardencorev1beta1.AvailabilityZone{Name: "desk-1"})
		editConfig(func(config *v1alpha1.CloudProfileConfig) {
			config.Sites = append(config.Sites, v1alpha1.CloudProfileSite{
				Name: "desk", Region: g.profile.Spec.Regions[0].Name,
				Blocks: toyapi.Blocks(&toyapi.Profile{Connection: toyapi.Connection{Address: "https://toys.example.com"}}),
				Zones:  []v1alpha1.SiteZone{{Name: "desk-1", Blocks: toyapi.Blocks(&toyapi.Zone{Shelf: "top"})}},
			})
		})(&g.profile.Spec)
	}
	replace := func(old, changed string) {
		raw := g.profile.Spec.ProviderConfig
		Expect(string(raw.Raw)).To(ContainSubstring(old))
		raw.Raw = bytes.Replace(raw.Raw, []byte(old), []byte(changed), 1)
	}

	BeforeEach(func() {
		DeferCleanup(toyapi.Install())
		g = newGarden()
		add()
	})

	DescribeTable("is checked as any other", func(ctx SpecContext, old, changed, expected string) {
		replace(old, changed)
		err := NewCloudProfileValidator(newManager()).Validate(ctx, g.profile, nil)
		if expected == "" {
			Expect(err).NotTo(HaveOccurred())
		} else {
			Expect(err).To(MatchError(ContainSubstring(expected)))
		}
	},
		Entry("valid", "", "", ""),
		Entry("unknown field", `{"shelf":"top"}`, `{"shelf":"top","row":1}`, `unknown field "sites[3].zones[0].toy.row"`),
		Entry("zone of another platform", `"toy":{"shelf":"top"}`, `"metal":{}`,
			`spec.providerConfig.sites[3].zones[0].metal: Forbidden: site "desk" is of platform "toy"`),
	)
})

var _ = Describe("A CloudProfile with a site of a platform that is not known", func() {
	It("is refused", func(ctx SpecContext) {
		g := newGarden()
		raw := g.profile.Spec.ProviderConfig
		raw.Raw = bytes.Replace(raw.Raw, []byte(`"metal":`), []byte(`"toy":{},"metal":`), 1)
		err := NewCloudProfileValidator(newManager()).Validate(ctx, g.profile, nil)
		Expect(err).To(MatchError(And(ContainSubstring("unknown field"), ContainSubstring(`.toy"`))))
	})
})
