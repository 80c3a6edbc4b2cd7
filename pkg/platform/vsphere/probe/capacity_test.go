// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

func TestProbe(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "vSphere Probe Suite")
}

var _ = Describe("Capacities", func() {
	const gibibyte = 1 << 30

	pool := func(kind string, used *types.ResourcePoolQuickStats) types.ObjectContent {
		return types.ObjectContent{Obj: types.ManagedObjectReference{Type: kind, Value: "resgroup-1"}, PropSet: []types.DynamicProperty{
			{Name: "runtime", Val: types.ResourcePoolRuntimeInfo{
				Cpu: types.ResourcePoolResourceUsage{MaxUsage: 5000}, Memory: types.ResourcePoolResourceUsage{MaxUsage: 4 * gibibyte},
			}},
			{Name: "summary", Val: types.ResourcePoolSummary{QuickStats: used}},
		}}
	}

	datastore := func(summary types.DatastoreSummary) types.ObjectContent {
		reference := types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}
		summary.Datastore = &reference
		return types.ObjectContent{Obj: reference, PropSet: []types.DynamicProperty{{Name: "summary", Val: summary}}}
	}

	DescribeTable("of an object", func(content types.ObjectContent, expected ...platform.Capacity) {
		found, err := read([]types.ObjectContent{content})
		Expect(err).NotTo(HaveOccurred())
		Expect(found[content.Obj]).To(ConsistOf(expected))
	},
		Entry("that is a resource pool", pool("ResourcePool", &types.ResourcePoolQuickStats{OverallCpuUsage: 2000, HostMemoryUsage: 1024}),
			platform.Capacity{Resource: platform.ResourceCPU, Total: 5e9, Free: 3e9},
			platform.Capacity{Resource: platform.ResourceMemory, Total: 4 * gibibyte, Free: 3 * gibibyte}),
		Entry("that is a vApp", pool("VirtualApp", &types.ResourcePoolQuickStats{}),
			platform.Capacity{Resource: platform.ResourceCPU, Total: 5e9, Free: 5e9},
			platform.Capacity{Resource: platform.ResourceMemory, Total: 4 * gibibyte, Free: 4 * gibibyte}),
		Entry("that uses more than its limit, which was lowered",
			pool("ResourcePool", &types.ResourcePoolQuickStats{OverallCpuUsage: 6000, HostMemoryUsage: 5 * 1024}),
			platform.Capacity{Resource: platform.ResourceCPU, Total: 5e9, Free: 0},
			platform.Capacity{Resource: platform.ResourceMemory, Total: 4 * gibibyte, Free: 0}),
		Entry("without statistics yet", pool("ResourcePool", nil)),
		Entry("whose properties may not be read", types.ObjectContent{
			Obj:        types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"},
			MissingSet: []types.MissingProperty{{Path: "summary", Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{}}}},
		}),
		Entry("that is a datastore",
			datastore(types.DatastoreSummary{Accessible: true, Capacity: 10 * gibibyte, FreeSpace: 3 * gibibyte, MaintenanceMode: "normal"}),
			platform.Capacity{Resource: platform.ResourceStorage, Total: 10 * gibibyte, Free: 3 * gibibyte}),
		Entry("that is a datastore in maintenance",
			datastore(types.DatastoreSummary{Accessible: true, Capacity: 10 * gibibyte, FreeSpace: 3 * gibibyte, MaintenanceMode: "inMaintenance"}),
			platform.Capacity{Resource: platform.ResourceStorage, Total: 10 * gibibyte, Free: 0}),
		Entry("that is a datastore which no host reaches", datastore(types.DatastoreSummary{Capacity: 10 * gibibyte, FreeSpace: 3 * gibibyte})),
	)
})
