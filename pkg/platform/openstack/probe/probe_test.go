// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func TestProbe(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "OpenStack Probe Suite")
}

var _ = Describe("Limits", func() {
	DescribeTable("of a project",
		func(absolute limits.Absolute, quotas []platform.Quota, failure OmegaMatcher) {
			Expect(QuotasOf(&absolute)).To(ConsistOf(quotas))
			Expect(usedUp(&absolute)).To(failure)
		},
		Entry("with room",
			limits.Absolute{TotalInstancesUsed: 2, MaxTotalInstances: 10, TotalCoresUsed: 4, MaxTotalCores: 20, TotalRAMUsed: 1024,
				MaxTotalRAMSize: 4096},
			[]platform.Quota{
				{Resource: platform.ResourceServers, Used: 2, Limit: 10},
				{Resource: platform.ResourceCores, Used: 4, Limit: 20},
				{Resource: platform.ResourceMemory, Used: 1 << 30, Limit: 4 << 30},
			}, Succeed()),
		Entry("without limits",
			limits.Absolute{TotalInstancesUsed: 2, MaxTotalInstances: -1, TotalCoresUsed: 4, MaxTotalCores: -1, TotalRAMUsed: 1024,
				MaxTotalRAMSize: -1},
			[]platform.Quota{}, Succeed()),
		Entry("that may have nothing",
			limits.Absolute{MaxTotalInstances: 0, MaxTotalCores: -1, MaxTotalRAMSize: -1},
			[]platform.Quota{{Resource: platform.ResourceServers}}, MatchError(ContainSubstring("0 of 0 servers"))),
		Entry("whose cores are used up",
			limits.Absolute{TotalInstancesUsed: 2, MaxTotalInstances: -1, TotalCoresUsed: 20, MaxTotalCores: 20, TotalRAMUsed: 1024,
				MaxTotalRAMSize: -1},
			[]platform.Quota{{Resource: platform.ResourceCores, Used: 20, Limit: 20}}, MatchError(ContainSubstring("20 of 20 cores"))),
	)
})
