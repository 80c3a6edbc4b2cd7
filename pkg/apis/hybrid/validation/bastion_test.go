// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("ValidateBastion", func() {
	var (
		profile = &v1alpha1.CloudProfileConfig{
			Sites: []v1alpha1.CloudProfileSite{
				{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{}},
				{Name: "vc", VSphere: &v1alpha1.VSphereProfile{}},
				{Name: "racks", Metal: &v1alpha1.MetalProfile{}},
			},
			MachineTypes: []v1alpha1.MachineType{{Name: "small", Sites: []v1alpha1.SiteMachineType{{Name: "cloud"}}}},
			MachineImages: []v1alpha1.MachineImage{{Name: "linux", Versions: []v1alpha1.MachineImageVersion{
				{Version: "1", CapabilityFlavors: []v1alpha1.MachineImageFlavor{{Sites: []v1alpha1.SiteMachineImage{{Name: "cloud"}, {Name: "vc"}}}}},
				{Version: "2", CapabilityFlavors: []v1alpha1.MachineImageFlavor{{Sites: []v1alpha1.SiteMachineImage{{Name: "vc"}}}}},
			}}},
		}
		infrastructure = &v1alpha1.InfrastructureConfig{
			Sites: []v1alpha1.InfrastructureSite{{Name: "cloud"}, {Name: "vc"}, {Name: "racks"}, {Name: "unknown"}},
		}
		image = func(name, version string) *v1alpha1.BastionImage {
			return &v1alpha1.BastionImage{Name: name, Version: version}
		}
	)

	DescribeTable("should accept", func(config *v1alpha1.BastionConfig) {
		Expect(validation.ValidateBastion(config, infrastructure, profile, field.NewPath("bastion"))).To(BeEmpty())
	},
		Entry("nothing", nil),
		Entry("no settings", &v1alpha1.BastionConfig{}),
		Entry("a site", &v1alpha1.BastionConfig{Site: "vc"}),
		Entry("all settings", &v1alpha1.BastionConfig{Site: "cloud", MachineType: "small", Image: image("linux", "1")}),
		Entry("an image without a version", &v1alpha1.BastionConfig{Site: "cloud", Image: image("linux", "")}),
		Entry("a site that the CloudProfile does not have, which is reported elsewhere",
			&v1alpha1.BastionConfig{Site: "unknown", MachineType: "small"}),
	)

	DescribeTable("should reject", func(config *v1alpha1.BastionConfig, errorType field.ErrorType, path string) {
		Expect(validation.ValidateBastion(config, infrastructure, profile, field.NewPath("bastion"))).To(ConsistOf(
			And(HaveField("Type", errorType), HaveField("Field", path))))
	},
		Entry("a site that the shoot does not have", &v1alpha1.BastionConfig{Site: "other"}, field.ErrorTypeNotSupported, "bastion.site"),
		Entry("a site of a platform without bastions", &v1alpha1.BastionConfig{Site: "racks"}, field.ErrorTypeForbidden, "bastion.site"),
		Entry("a machine type without a site", &v1alpha1.BastionConfig{MachineType: "small"}, field.ErrorTypeRequired, "bastion.site"),
		Entry("an image without a site", &v1alpha1.BastionConfig{Image: image("linux", "")}, field.ErrorTypeRequired, "bastion.site"),
		Entry("a machine type of another site", &v1alpha1.BastionConfig{Site: "vc", MachineType: "small"}, field.ErrorTypeInvalid,
			"bastion.machineType"),
		Entry("an image without a name", &v1alpha1.BastionConfig{Site: "vc", Image: image("", "1")}, field.ErrorTypeRequired,
			"bastion.image.name"),
		Entry("an unknown image", &v1alpha1.BastionConfig{Site: "vc", Image: image("other", "")}, field.ErrorTypeInvalid, "bastion.image"),
		Entry("a version of another site", &v1alpha1.BastionConfig{Site: "cloud", Image: image("linux", "2")}, field.ErrorTypeInvalid,
			"bastion.image"),
	)
})
