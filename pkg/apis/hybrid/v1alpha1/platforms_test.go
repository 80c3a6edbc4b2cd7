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
