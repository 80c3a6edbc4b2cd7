// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = DescribeTable("DiscoveredMTU",
	func(status SiteStatus, expected int) {
		Expect(status.DiscoveredMTU()).To(BeEquivalentTo(expected))
	},
	Entry("a platform that tells", SiteStatus{OpenStack: &OpenStackStatus{NetworkMTU: 1450}}, 1450),
	Entry("a platform that told nothing", SiteStatus{OpenStack: &OpenStackStatus{}}, 0),
	Entry("a platform that cannot tell", SiteStatus{VSphere: &VSphereStatus{}}, 0),
)
