// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Floating IPs of machines", Ordered, func() {
	var (
		s    *site.Site
		o    owner.Owner
		spec *v1alpha1.MachineProviderSpec
		part platform.Machines
	)

	BeforeAll(func(ctx SpecContext) {
		s = newSite(shootName())
		o = owner.Owner{Shoot: s.Shoot, Site: s.Name}
		sessions := newSessions()
		network := infrastructure.New(sessions)
		status, err := network.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(network.Delete(ctx, s, keep(s))).To(Succeed()) })
		spec = &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot}
		request := machineClass(s, status, "m1.tiny")
		request.Settings = v1alpha1.WorkerSite{Name: s.Name, OpenStack: &v1alpha1.OpenStackWorker{FloatingIP: true}}
		Expect(machineclasses.New(sessions).Resolve(ctx, request, spec)).To(Succeed())
		Expect(spec.OpenStack.FloatingNetworkID).To(Equal(status.OpenStack.FloatingNetworkID))
	})

	BeforeEach(func() {
		part = machines.New(newSessions())
		DeferCleanup(func(ctx SpecContext) { deleteMachines(ctx, spec) })
	})

	request := func(name string) platform.MachineRequest {
		return platform.MachineRequest{Name: s.Shoot + "-" + name, Spec: spec, Credentials: siteCredentials(), UserData: []byte("#!/bin/sh\n"),
			Once: true}
	}
	// addresses are the floating IPs in the project with the mark of the machine.
	addresses := func(ctx SpecContext, machine string) []floatingips.FloatingIP {
		GinkgoHelper()
		found, err := client.List(ctx, floatingips.List(networkService(ctx), floatingips.ListOpts{Description: o.MachineDescription(machine)}),
			floatingips.ExtractFloatingIPs)
		Expect(err).NotTo(HaveOccurred())
		return found
	}

	It("should be there when the machine is, and go with it", func(ctx SpecContext) {
		r := request("public")
		_, err := part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
		requests := label("create with floating IP")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(requests())).To(BeNumerically("<=", 5), "one more than without")
		found := addresses(ctx, r.Name)
		Expect(found).To(ConsistOf(And(HaveField("FloatingNetworkID", spec.OpenStack.FloatingNetworkID),
			HaveField("PortID", portsOf(ctx, r.Name)[0].ID))))

		r.ProviderID = created.ProviderID
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(addresses(ctx, r.Name)).To(BeEmpty())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
		Expect(part.Delete(ctx, r)).To(Succeed(), "a second time")
	})

	DescribeTable("should be one, and go, whatever was interrupted", func(ctx SpecContext, fault countproxy.Fault) {
		r := request("once")
		fault.Times = 1
		Expect(proxy.SetFaults(fault)).To(Succeed())
		_, err := part.Create(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

		created, err := machines.New(newSessions()).Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(addresses(ctx, r.Name)).To(ConsistOf(HaveField("PortID", portsOf(ctx, r.Name)[0].ID)))

		r.ProviderID = created.ProviderID
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(addresses(ctx, r.Name)).To(BeEmpty())
	},
		Entry("created, answer lost", countproxy.Fault{Method: "POST", Path: "/floatingips$", After: true, Action: countproxy.ActionReset}),
		suite.NightlyEntries(
			Entry("refused", countproxy.Fault{Method: "POST", Path: "/floatingips$", Action: countproxy.ActionStatus, Status: 503}),
			Entry("server refused", countproxy.Fault{Method: "POST", Path: "/servers$", Action: countproxy.ActionStatus, Status: 503}),
		),
	)

	suite.NightlyIt("should go with the machine if its class no longer has them, also at the next attempt", func(ctx SpecContext) {
		without := *spec
		without.OpenStack = spec.OpenStack.DeepCopy()
		without.OpenStack.FloatingNetworkID, without.OpenStack.FloatingSubnetID = "", ""
		for _, faults := range [][]countproxy.Fault{nil, {{Method: "DELETE", Path: "/floatingips/", Times: 10,
			Action: countproxy.ActionStatus, Status: 503}}} {
			r := request("changed")
			created, err := part.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			Expect(addresses(ctx, r.Name)).To(HaveLen(1))

			r.ProviderID, r.Spec = created.ProviderID, &without
			Expect(proxy.SetFaults(faults...)).To(Succeed())
			if err := part.Delete(ctx, r); len(faults) > 0 {
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
				Expect(proxy.SetFaults()).To(Succeed())
				Expect(machines.New(newSessions()).Delete(ctx, r)).To(Succeed())
			} else {
				Expect(err).NotTo(HaveOccurred())
			}
			Expect(addresses(ctx, r.Name)).To(BeEmpty())
		}
	})

	suite.NightlyIt("should go at the next attempt if the deletion was interrupted, and take no other machine's", func(ctx SpecContext) {
		r, other := request("late"), request("late-2")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		_, err = part.Create(ctx, other)
		Expect(err).NotTo(HaveOccurred())

		r.ProviderID = created.ProviderID
		Expect(proxy.SetFaults(countproxy.Fault{Method: "DELETE", Path: "/floatingips/", Times: 10, Action: countproxy.ActionStatus,
			Status: 503})).To(Succeed())
		Expect(platform.ClassOf(part.Delete(ctx, r))).To(Equal(platform.ClassTransient))
		Expect(addresses(ctx, r.Name)).To(ConsistOf(HaveField("PortID", BeEmpty())))

		Expect(proxy.SetFaults()).To(Succeed())
		Expect(machines.New(newSessions()).Delete(ctx, r)).To(Succeed())
		Expect(addresses(ctx, r.Name)).To(BeEmpty())
		Expect(addresses(ctx, other.Name)).To(ConsistOf(HaveField("PortID", Not(BeEmpty()))))
	})

	suite.NightlyIt("should be named as orphans, and be deleted with the shoot, when their machines are gone", func(ctx SpecContext) {
		r := request("orphan")
		left, err := floatingips.Create(ctx, networkService(ctx), floatingips.CreateOpts{FloatingNetworkID: spec.OpenStack.FloatingNetworkID,
			Description: o.MachineDescription(r.Name)}).Extract()
		Expect(err).NotTo(HaveOccurred())
		foreign, err := floatingips.Create(ctx, networkService(ctx), floatingips.CreateOpts{FloatingNetworkID: spec.OpenStack.FloatingNetworkID,
			Description: owner.Owner{Shoot: s.Shoot + "-2", Site: s.Name}.MachineDescription(r.Name)}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(floatingips.Delete(ctx, networkService(ctx), foreign.ID).ExtractErr()).To(Succeed())
		})
		network := infrastructure.New(newSessions())
		Expect(network.Orphans(ctx, s)).To(And(ContainElement(HaveField("ID", left.ID)), Not(ContainElement(HaveField("ID", foreign.ID)))))
		Expect(network.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(addresses(ctx, r.Name)).To(BeEmpty())
		Expect(floatingips.Get(ctx, networkService(ctx), foreign.ID).Extract()).To(HaveField("ID", foreign.ID))
	})
})
