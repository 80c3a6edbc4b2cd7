// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
)

var _ = Describe("#CloudController", func() {
	It("should name the connection and where the machines of each zone are", func() {
		Expect(New().CloudController(east())).To(Equal(&v1alpha1.CloudControllerSite{
			Name: "east",
			VSphere: &v1alpha1.VSphereCloudController{
				Connection: v1alpha1.VSphereConnection{Server: "https://vc-east.example.com", TLS: east().Site.Profile.TLS},
				Zones: []v1alpha1.VSphereCloudControllerZone{
					{Name: "east-1", ComputeCluster: "domain-east-1", ResourcePool: "resgroup-east-1", Folder: "group-v1"},
					{Name: "east-2", ComputeCluster: "domain-east-2", ResourcePool: "resgroup-east-2", Folder: "group-v1"},
				},
			},
		}))
	})

	DescribeTable("should say what is missing", func(change func(*platform.ControlPlaneSite), message string) {
		_, err := New().CloudController(with(east(), change))
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(err).To(MatchError(HavePrefix(`site "east": `)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	},
		Entry("site of the CloudProfile", func(s *platform.ControlPlaneSite) { s.Site.Profile = nil },
			"the CloudProfile no longer has a vSphere site"),
		Entry("block of the CloudProfile", func(s *platform.ControlPlaneSite) { s.Site.Profile.VSphere = nil },
			"the CloudProfile no longer has a vSphere site"),
		Entry("status", func(s *platform.ControlPlaneSite) { s.Status = nil }, "providerStatus"),
		Entry("block of the status", func(s *platform.ControlPlaneSite) { s.Status.VSphere = nil }, "providerStatus"),
	)
})
