// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = DescribeTable("Endpoint of a site", func(site CloudProfileSite, expected string) {
	Expect(site.Endpoint()).To(Equal(expected))
},
	Entry("of OpenStack", CloudProfileSite{OpenStack: &OpenStackProfile{AuthURL: "https://keystone.example.com/v3"}},
		"https://keystone.example.com/v3"),
	Entry("of vSphere", CloudProfileSite{VSphere: &VSphereProfile{Server: "https://vcenter.example.com"}}, "https://vcenter.example.com"),
	Entry("of bare metal", CloudProfileSite{Metal: &MetalProfile{Server: "https://metal.example.com:6443"}}, "https://metal.example.com:6443"),
	Entry("of no platform", CloudProfileSite{}, ""),
)

var _ = Describe("Platform of a site", func() {
	DescribeTable("is the one whose block is set", func(site CloudControllerSite, expected Platform, zones bool) {
		platform, ok := site.Platform()
		Expect(platform).To(Equal(expected))
		Expect(ok).To(Equal(expected != ""))
		Expect(site.HasZones()).To(Equal(zones))
	},
		Entry("OpenStack", CloudControllerSite{OpenStack: &OpenStackCloudController{Zones: []OpenStackCloudControllerZone{{}}}},
			PlatformOpenStack,
			true),
		Entry("vSphere", CloudControllerSite{VSphere: &VSphereCloudController{Zones: []VSphereCloudControllerZone{{}}}}, PlatformVSphere, true),
		Entry("bare metal", CloudControllerSite{Metal: &MetalCloudController{Zones: []MetalCloudControllerZone{{}}}}, PlatformMetal, true),
		Entry("no zones", CloudControllerSite{Metal: &MetalCloudController{}}, PlatformMetal, false),
		Entry("none", CloudControllerSite{}, Platform(""), false),
		Entry("two", CloudControllerSite{Metal: &MetalCloudController{}, VSphere: &VSphereCloudController{}}, Platform(""), false),
	)

	It("has no block in types that not all platforms have a block in", func() {
		Expect(PlatformsOf(&SiteVolumeType{VSphere: &VSphereVolumeType{}})).To(Equal([]Platform{PlatformVSphere}))
		Expect(PlatformsOf(&SiteVolumeType{})).To(BeEmpty())
		Expect(PlatformsOf(&SiteZone{Metal: &MetalZone{}, OpenStack: &OpenStackZone{}})).To(Equal([]Platform{PlatformOpenStack, PlatformMetal}))
	})
})
