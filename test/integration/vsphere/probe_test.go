// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/probe"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

var _ = Describe("Probe", func() {
	const (
		ask    = "vim25 RetrievePropertiesEx"
		lookUp = "vim25 FindByInventoryPath"
	)
	var (
		part platform.Probe
		s    *site.Site
	)

	BeforeEach(func() {
		part = probe.New(newSessions())
		s = newSite("")
	})

	capacitiesOf := func(ctx context.Context) []platform.Capacity {
		GinkgoHelper()
		report, err := part.Probe(ctx, s, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Quotas).To(BeEmpty())
		return report.Capacities
	}
	// inspected are the capacities of the zones as the inventory has them.
	inspected := func(ctx context.Context, zones ...v1alpha1.SiteZone) []platform.Capacity {
		GinkgoHelper()
		retrieve := func(path string, properties []string, into any) {
			found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, path)
			Expect(err).NotTo(HaveOccurred())
			Expect(property.DefaultCollector(inspector).RetrieveOne(ctx, found.Reference(), properties, into)).To(Succeed())
		}
		var result []platform.Capacity
		for _, z := range zones {
			var (
				pool      mo.ResourcePool
				datastore mo.Datastore
			)
			retrieve("/"+z.VSphere.Datacenter+"/host/"+z.VSphere.ComputeCluster+"/Resources", []string{"runtime"}, &pool)
			retrieve("/"+z.VSphere.Datacenter+"/datastore/"+z.VSphere.Datastore, []string{"summary"}, &datastore)
			cpu, memory := pool.Runtime.Cpu.MaxUsage, pool.Runtime.Memory.MaxUsage
			Expect([]int64{cpu, memory, datastore.Summary.FreeSpace}).To(HaveEach(BeNumerically(">", 0)))
			result = append(result,
				platform.Capacity{Zone: z.Name, Resource: platform.ResourceCPU, Total: float64(cpu) * 1e6, Free: float64(cpu-control.UsedMHz) * 1e6},
				platform.Capacity{Zone: z.Name, Resource: platform.ResourceMemory, Total: float64(memory), Free: float64(memory - control.UsedMiB<<20)},
				platform.Capacity{Zone: z.Name, Resource: platform.ResourceStorage, Total: float64(datastore.Summary.Capacity),
					Free: float64(datastore.Summary.FreeSpace)},
			)
		}
		return result
	}

	It("should tell what is free in each zone, with one request once it knows the zones", func(ctx SpecContext) {
		expected := inspected(ctx, s.Profile.Zones...)
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected[:6]), "what is looked up in one go")
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected))
		Eventually(ctx, func(ctx context.Context) control.Counts {
			count(ctx)
			Expect(capacitiesOf(ctx)).To(ConsistOf(expected))
			return count(ctx)
		}).Should(Equal(control.Counts{ask: 1}), "the vCenter also counts what a driver that an earlier spec killed had sent")
	})

	It("should tell of zones that share everything, and of no datastore where there is a storage policy", func(ctx SpecContext) {
		shared := s.Profile.Zones[0].DeepCopy()
		shared.Name, shared.VSphere.Datastore, shared.VSphere.StoragePolicy = "policy", "", "gold"
		expected := inspected(ctx, s.Profile.Zones[0])
		s.Profile.Zones = append(s.Profile.Zones[:1], *shared)
		for _, capacity := range expected[:2] {
			capacity.Zone = "policy"
			expected = append(expected, capacity)
		}
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected))
	})

	It("should tell nothing of what is not there, and not look for it each time", func(ctx SpecContext) {
		s.Profile.Zones[0].VSphere.ResourcePool = "nowhere"
		s.Profile.Zones[0].VSphere.Datastore = "nowhere"
		expected := inspected(ctx, s.Profile.Zones[1:]...)
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected[:3]))
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected))
		count(ctx)
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected))
		Expect(count(ctx)).To(Equal(control.Counts{ask: 1}))
	})

	DescribeTable("should find the site well that refuses to tell", func(ctx SpecContext, fault string, lookUps, told int) {
		Expect(capacitiesOf(ctx)).To(HaveLen(6))
		Expect(capacitiesOf(ctx)).To(HaveLen(12))
		disturb(ctx, control.Settings{Faults: []control.Fault{{Method: "RetrievePropertiesEx", Type: fault, Times: 1}}})
		count(ctx)
		Expect(capacitiesOf(ctx)).To(BeEmpty())
		Expect(capacitiesOf(ctx)).To(HaveLen(told))
		Expect(count(ctx)[lookUp]).To(Equal(lookUps))
	},
		Entry("for want of a privilege", "NoPermission", 0, 12),
		Entry("because something is gone, which is looked up again", "ManagedObjectNotFound", 4, 6),
	)

	It("should not find it well if it does not answer or refuses the login", func(ctx SpecContext) {
		Expect(capacitiesOf(ctx)).NotTo(BeEmpty())
		disturb(ctx, control.Settings{Faults: []control.Fault{{Method: "RetrievePropertiesEx", Type: "HostCommunication"}}})
		_, err := part.Probe(ctx, s, nil)
		Expect(err).To(MatchError(HavePrefix(`site "vc": `)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

		s.Credentials["password"] = "wrong"
		_, err = part.Probe(ctx, s, nil)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
	})

	It("should log in again when its session has ended, and tell if the login is refused", func(ctx SpecContext) {
		expected := inspected(ctx, s.Profile.Zones...)
		Expect(capacitiesOf(ctx)).NotTo(BeEmpty())
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected))
		Expect(server.EndSessions(ctx)).To(Succeed())
		Expect(capacitiesOf(ctx)).To(ConsistOf(expected))

		disturb(ctx, control.Settings{Password: "changed"})
		Expect(server.EndSessions(ctx)).To(Succeed())
		_, err := part.Probe(ctx, s, nil)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
	})

	It("should ask a site that the CloudProfile dropped for its time", func(ctx SpecContext) {
		s.Profile, s.State = nil, &v1alpha1.SiteState{VSphere: &v1alpha1.VSphereState{Connection: connection()}}
		Expect(capacitiesOf(ctx)).To(BeEmpty())
		count(ctx)
		Expect(capacitiesOf(ctx)).To(BeEmpty())
		Expect(count(ctx)).To(Equal(control.Counts{"vim25 CurrentTime": 1}))
	})
})
