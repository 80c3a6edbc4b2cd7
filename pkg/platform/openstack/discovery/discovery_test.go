// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func TestDiscovery(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "OpenStack Discovery Suite")
}

var _ = Describe("Discovery", func() {
	DescribeTable("should read the extra specifications of flavors", func(specs map[string]string, architecture string, gpus int64) {
		Expect(architectureOf(specs)).To(Equal(architecture))
		Expect(gpusOf(specs)).To(Equal(gpus))
	},
		Entry("none", nil, "", int64(0)),
		Entry("ARM", map[string]string{"trait:HW_ARCH_AARCH64": "required"}, "arm64", int64(0)),
		Entry("a property", map[string]string{"hw:architecture": "x86_64"}, "amd64", int64(0)),
		Entry("virtual GPUs", map[string]string{"resources:VGPU": "2"}, "", int64(2)),
		Entry("GPUs and network cards", map[string]string{"pci_passthrough:alias": "a100-gpu:4,nic:2"}, "", int64(4)),
		Entry("nonsense", map[string]string{"resources:VGPU": "many", "pci_passthrough:alias": "gpu:999999999999999999999,gpu:-1"}, "", int64(0)),
	)

	DescribeTable("should tell what an image is", func(change func(*images.Image), expected OmegaMatcher) {
		image := &images.Image{ID: "1", Name: "ubuntu-24.04.1", Status: images.ImageStatusActive, DiskFormat: "qcow2",
			Properties: map[string]any{}}
		change(image)
		offer := &platform.Offer{}
		(&lister{site: "cloud"}).image(image, offer)
		Expect(offer.Objects).To(HaveExactElements(expected))
	},
		Entry("by its name", func(*images.Image) {}, And(HaveField("OS", "ubuntu"), HaveField("Version", "24.04.1"),
			HaveField("Architecture", ""), HaveField("Unusable", ""))),
		Entry("by its properties", func(i *images.Image) {
			i.Name, i.Properties = "golden", map[string]any{"os_distro": "Garden Linux", "os_version": "1877.3", "architecture": "aarch64"}
		}, And(HaveField("OS", "garden-linux"), HaveField("Version", "1877.3"), HaveField("Architecture", "arm64"))),
		Entry("by its name if the property has no number, or less of it", func(i *images.Image) { i.Properties["os_version"] = "noble" },
			HaveField("Version", "24.04.1")),
		Entry("by its ID without a name", func(i *images.Image) { i.Name = "" }, HaveField("Name", "1")),
		Entry("a snapshot", func(i *images.Image) { i.Properties["image_type"] = "snapshot" },
			HaveField("Unusable", ContainSubstring("snapshot"))),
		Entry("deactivated", func(i *images.Image) { i.Status = "deactivated" }, HaveField("Unusable", "its status is deactivated")),
		Entry("hidden", func(i *images.Image) { i.Hidden = true }, HaveField("Deprecated", "it is hidden")),
		Entry("deprecated", func(i *images.Image) { i.Properties["deprecated"] = "True" }, And(HaveField("Unusable", ""),
			HaveField("Deprecated", ContainSubstring("deprecated")))),
		Entry("a CD", func(i *images.Image) { i.DiskFormat = "iso" }, HaveField("Unusable", "its disk format is iso")),
		Entry("with properties that are no text", func(i *images.Image) { i.Properties["os_distro"] = 5 }, HaveField("OS", "ubuntu")),
	)

	It("should know what a site refers to besides its zones", func() {
		references := (&discovery{}).References(platform.ProfilePart{Site: &v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{
			FloatingPools: []v1alpha1.OpenStackFloatingPool{{Name: "public", LoadBalancerClasses: []v1alpha1.OpenStackLoadBalancerClass{
				{FloatingNetworkID: "1", NetworkID: "2"}}}},
			LoadBalancerProviders: []string{"amphora"}, Networks: []string{"3"}, FloatingNetworks: []string{"4"},
		}}})
		Expect(references).To(HaveExactElements(
			And(HaveField("Name", "public"), HaveField("Unique", true), HaveField("Field", "openstack.floatingPools[0].name")),
			And(HaveField("Name", "1"), HaveField("Field", "openstack.floatingPools[0].loadBalancerClasses[0].floatingNetworkID")),
			And(HaveField("Name", "2"), HaveField("Kinds", HaveLen(2))),
			HaveField("Name", "amphora"), HaveField("Name", "3"), HaveField("Name", "4")))
	})

	It("should keep the load balancer classes of external networks, and drop what does not exist", func() {
		site := &v1alpha1.CloudProfileSite{OpenStack: &v1alpha1.OpenStackProfile{FloatingPools: []v1alpha1.OpenStackFloatingPool{
			{Name: "public", LoadBalancerClasses: []v1alpha1.OpenStackLoadBalancerClass{{Name: "c"}}}, {Name: "gone"}}}}
		Expect(profileOf(site, []platform.Object{{Kind: platform.KindExternalNetwork, Name: "public"},
			{Kind: platform.KindExternalNetwork, Name: "more"}, {Kind: platform.KindLoadBalancerProvider, Name: "ovn"},
			{Kind: platform.KindLoadBalancerProvider, Name: "octavia", Deprecated: "alias"}}).OpenStack).To(And(
			HaveField("FloatingPools", HaveExactElements(HaveField("LoadBalancerClasses", HaveLen(1)), HaveField("Name", "more"))),
			HaveField("LoadBalancerProviders", HaveExactElements("ovn"))))
	})
})
