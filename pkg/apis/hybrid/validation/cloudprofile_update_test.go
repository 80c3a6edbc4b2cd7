// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"fmt"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("#ValidateCloudProfileConfigUpdate", func() {
	uses := []ProfileUse{
		{Shoot: "p/west", Region: "west", Sites: []string{"cloud", "racks"}, Zones: []string{"cloud-a", "rack-1"}},
		{Shoot: "p/east", Region: "east", Sites: []string{"far"}, Zones: []string{"cloud-a"}},
	}

	DescribeTable("what Shoots use",
		func(change func(config *v1alpha1.CloudProfileConfig), problems ...problem) {
			changed := newProfile()
			change(changed)
			Expect(ValidateCloudProfileConfigUpdate(changed, newProfile(), uses, field.NewPath("config"))).To(haveProblems(problems))
		},
		Entry("unchanged", func(*v1alpha1.CloudProfileConfig) {}),
		Entry("other order", func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[0], config.Sites[2] = config.Sites[2], config.Sites[0]
		}),
		Entry("a site that nobody uses is taken away", func(config *v1alpha1.CloudProfileConfig) {
			config.Sites = append(config.Sites[:1], config.Sites[2:]...)
		}),
		Entry("a zone without pools is taken away",
			func(config *v1alpha1.CloudProfileConfig) { config.Sites[0].Zones = config.Sites[0].Zones[:1] }),
		Entry("a site is taken away", func(config *v1alpha1.CloudProfileConfig) { config.Sites = config.Sites[:3] },
			problem{forbidden, "config.sites"}),
		Entry("a zone is taken away", func(config *v1alpha1.CloudProfileConfig) { config.Sites[0].Zones = config.Sites[0].Zones[1:] },
			problem{forbidden, "config.sites"}),
		Entry("a zone moves to another site", func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[1].Zones = append(config.Sites[1].Zones, config.Sites[0].Zones[0])
			config.Sites[0].Zones = config.Sites[0].Zones[1:]
		}, problem{forbidden, "config.sites"}),
		Entry("another platform", func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[3].OpenStack, config.Sites[3].Metal = nil, &v1alpha1.MetalProfile{}
		}, problem{forbidden, "config.sites[3].metal"}),
		Entry("another region", func(config *v1alpha1.CloudProfileConfig) { config.Sites[3].Region = "north" },
			problem{forbidden, "config.sites[3].region"}, problem{forbidden, "config.sites"}),
		Entry("another Keystone region", func(config *v1alpha1.CloudProfileConfig) { config.Sites[0].OpenStack.Region = "RegionTwo" },
			problem{forbidden, "config.sites[0].openstack.region"}),
		Entry("another inventory and namespace", func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[2].Metal.Inventory, config.Sites[2].Metal.Namespace = v1alpha1.MetalInventoryIronCore, "other"
		}, problem{forbidden, "config.sites[2].metal.inventory"}, problem{forbidden, "config.sites[2].metal.namespace"}),
		Entry("other addresses, under which the same may answer", func(config *v1alpha1.CloudProfileConfig) {
			config.Sites[0].OpenStack.AuthURL, config.Sites[1].VSphere.Server, config.Sites[2].Metal.Server = "https://a.example.com/v3",
				"https://b.example.com", "https://c.example.com"
		}),
	)

	It("says what to do about a site that is to be elsewhere", func() {
		changed := newProfile()
		changed.Sites[0].OpenStack.Region = "RegionTwo"
		Expect(ValidateCloudProfileConfigUpdate(changed, newProfile(), uses, nil)).To(ConsistOf(HaveField("Detail",
			`must stay "RegionOne", because Shoots have objects of the site there: p/west; add another site and move their pools to it`)))
	})

	It("names some Shoots and counts the others", func() {
		var many []ProfileUse
		for i := range 7 {
			many = append(many, ProfileUse{Shoot: fmt.Sprintf("p/s%d", 7-i), Sites: []string{"far"}})
		}
		changed := newProfile()
		changed.Sites = changed.Sites[:3]
		errs := ValidateCloudProfileConfigUpdate(changed, newProfile(), many, nil)
		Expect(errs).To(ConsistOf(HaveField("Detail", `site "far" must stay, Shoots use it: p/s1, p/s2, p/s3, p/s4, p/s5 and 2 others`)))
	})

	It("lets templates of NamespacedCloudProfiles lie only where the operator has them, and keeps those that were there", func() {
		parent := newProfile()
		parent.Sites[1].VSphere.TemplateFolder = "templates"
		config := func(template string) *v1alpha1.CloudProfileConfig {
			image := v1alpha1.SiteMachineImage{Name: parent.Sites[1].Name, UserData: &v1alpha1.UserData{Format: v1alpha1.UserDataFormatCloudInit},
				VSphere: &v1alpha1.VSphereImage{Template: template}}
			return &v1alpha1.CloudProfileConfig{MachineImages: []v1alpha1.MachineImage{{Name: "own", Versions: []v1alpha1.MachineImageVersion{{
				Version: "1.0.0", CapabilityFlavors: []v1alpha1.MachineImageFlavor{{Sites: []v1alpha1.SiteMachineImage{image}}},
			}}}}}
		}
		check := func(template string, old *v1alpha1.CloudProfileConfig) []string {
			var fields []string
			for _, err := range ValidateNamespacedCloudProfileConfig(NamespacedProfile{
				Config: config(template), OldConfig: old, Spec: &gardencorev1beta1.NamespacedCloudProfileSpec{}, ParentConfig: parent,
				ParentSpec: newSpec(),
			}, field.NewPath("c")) {
				if strings.HasSuffix(err.Field, "vsphere.template") {
					fields = append(fields, err.Detail)
				}
			}
			return fields
		}
		Expect(check("templates/own", nil)).To(BeEmpty())
		Expect(check("/dc-1/vm/others/machine", nil)).To(HaveLen(1))
		Expect(check("templates/../others/machine", nil)).To(HaveLen(1))
		Expect(check("others/machine", nil)).To(HaveLen(1))
		Expect(check("others/machine", config("others/machine"))).To(BeEmpty())
	})

	It("accepts nil", func() {
		Expect(ValidateCloudProfileConfigUpdate(nil, newProfile(), uses, nil)).To(BeEmpty())
		Expect(ValidateCloudProfileConfigUpdate(newProfile(), nil, uses, nil)).To(BeEmpty())
		Expect(ValidateNamespacedCloudProfileConfig(NamespacedProfile{},
			field.NewPath("config"))).To(haveProblems([]problem{{required, "config"}}))
	})
})
