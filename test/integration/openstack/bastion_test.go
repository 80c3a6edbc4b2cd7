// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/bastion"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Bastion", func() {
	var (
		shoot   string
		s       *site.Site
		network platform.Infrastructure
		status  *v1alpha1.SiteStatus
		part    platform.Bastions
		made    *services
		name    string
	)

	BeforeEach(func(ctx SpecContext) {
		shoot = shootName()
		s = newSite(shoot)
		network, part = infrastructure.New(newSessions()), bastion.New(newSessions())
		name = shoot + "-bastion-cli"
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(bed.SetBootDelay(0, shoot)).To(Succeed())
			Eventually(network.Delete).WithContext(ctx).WithArguments(s, keep(s)).Within(3 * time.Minute).Should(Succeed())
		}, NodeTimeout(4*time.Minute))
		var err error
		status, err = network.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		made = newServices(ctx, credentials)
	})

	request := func(ingress ...string) platform.BastionRequest {
		r := platform.BastionRequest{
			Name: name, Site: s, Status: status,
			Machine: func() (platform.MachineClassRequest, error) {
				return platform.MachineClassRequest{
					Site: s, Status: status,
					Zone:        &v1alpha1.SiteZone{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}},
					MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.tiny"}},
					Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
				}, nil
			},
			UserData: []byte("#!/bin/bash\nuseradd gardener\n"),
		}
		for _, cidr := range ingress {
			r.Ingress = append(r.Ingress, netip.MustParsePrefix(cidr))
		}
		return r
	}
	// running waits until the bastion runs. An error must be progress.
	running := func(ctx SpecContext, r platform.BastionRequest) platform.Bastion {
		GinkgoHelper()
		var result platform.Bastion
		Eventually(func(ctx context.Context) error {
			var err error
			if result, err = part.Ensure(ctx, r); err != nil && !platform.IsProgress(err) {
				return StopTrying("it is not progress").Wrap(err)
			}
			return err
		}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
		return result
	}
	groupOf := func(ctx SpecContext) groups.SecGroup {
		GinkgoHelper()
		pages, err := groups.List(made.network, groups.ListOpts{Name: name}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := groups.ExtractGroups(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(HaveLen(1))
		return found[0]
	}
	shown := func(found []rules.SecGroupRule) []string {
		var result []string
		for _, r := range found {
			result = append(result, fmt.Sprintf("%s %s %s %d %s", r.Direction, r.EtherType, r.Protocol, r.PortRangeMin, r.RemoteIPPrefix))
		}
		return result
	}
	nodeRules := func(ctx SpecContext) []string {
		GinkgoHelper()
		pages, err := rules.List(made.network, rules.ListOpts{SecGroupID: status.OpenStack.SecurityGroupID, PortRangeMin: 22}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := rules.ExtractRules(pages)
		Expect(err).NotTo(HaveOccurred())
		return shown(found)
	}
	serversOf := func(ctx SpecContext) []servers.Server {
		GinkgoHelper()
		pages, err := servers.List(made.compute, servers.ListOpts{Name: "^" + name + "$"}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := servers.ExtractServers(pages)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	left := func(ctx SpecContext) []string {
		GinkgoHelper()
		found, err := inspector.Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())
		var result []string
		for _, o := range found {
			if strings.Contains(o.String(), "bastion") {
				result = append(result, o.String())
			}
		}
		return result
	}
	admit := func(ctx SpecContext, from ...netip.Addr) error {
		return part.(platform.BastionGate).Admit(ctx, s, name, from)
	}

	It("should be reached from the allowed ranges alone, reach nodes of all sites alone, and be deleted", func(ctx SpecContext) {
		created := running(ctx, request("203.0.113.7/24", "2001:db8::/64"))
		Expect(created.NodeAddresses).To(HaveLen(1))
		Expect(s.Network.Nodes[0].Contains(created.NodeAddresses[0])).To(BeTrue())

		pages, err := floatingips.List(made.network, floatingips.ListOpts{FloatingIP: created.Address.String()}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		addresses, err := floatingips.ExtractFloatingIPs(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(addresses).To(ConsistOf(HaveField("FixedIP", created.NodeAddresses[0].String())))

		group := groupOf(ctx)
		Expect(shown(group.Rules)).To(ConsistOf(
			"ingress IPv4 tcp 22 203.0.113.0/24", "ingress IPv6 tcp 22 2001:db8::/64",
			"egress IPv4 tcp 22 10.250.0.0/18", "egress IPv4 tcp 22 10.250.64.0/18",
			"egress IPv4 udp 53 0.0.0.0/0", "egress IPv4 tcp 53 0.0.0.0/0", "egress IPv4 udp 123 0.0.0.0/0",
			"egress IPv4 tcp 80 169.254.169.254/32",
		))
		server := serversOf(ctx)
		Expect(server).To(HaveLen(1))
		Expect(server[0].KeyName).To(BeEmpty())
		port := portsOf(ctx, name)
		Expect(port).To(ConsistOf(HaveField("SecurityGroups", Equal([]string{group.ID}))))
		Expect(port[0].AllowedAddressPairs).To(BeEmpty())

		By("seeing that nothing is to do")
		requests := label("no-op")
		Expect(part.Ensure(ctx, request("203.0.113.0/24", "2001:db8::/64"))).To(Equal(created))
		Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
		Expect(len(requests())).To(BeNumerically("<=", 5))

		By("letting it reach the nodes")
		Expect(admit(ctx, created.NodeAddresses...)).To(Succeed())
		Expect(nodeRules(ctx)).To(ConsistOf(fmt.Sprintf("ingress IPv4 tcp 22 %s/32", created.NodeAddresses[0])))
		requests = label("admitted")
		Expect(admit(ctx, created.NodeAddresses...)).To(Succeed())
		Expect(requests()).To(HaveLen(1))
		_, err = network.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(nodeRules(ctx)).To(HaveLen(1), "the infrastructure must leave it alone")
		Expect(admit(ctx, netip.MustParseAddr("10.250.64.9"))).To(Succeed())
		Expect(nodeRules(ctx)).To(ConsistOf("ingress IPv4 tcp 22 10.250.64.9/32"))

		By("not being one of the machines, which are deleted if they have no Machine")
		spec := &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: shoot, OpenStack: &v1alpha1.OpenStackMachineSpec{Connection: connection}}
		Expect(machines.New(newSessions()).List(ctx, platform.MachineRequest{Spec: spec, Credentials: s.Credentials})).To(BeEmpty())

		Expect(admit(ctx)).To(Succeed())
		Expect(nodeRules(ctx)).To(BeEmpty())
		Expect(part.Delete(ctx, s, name)).To(Succeed())
		Expect(left(ctx)).To(BeEmpty())
		Expect(part.Delete(ctx, s, name)).To(Succeed(), "again")
	}, NodeTimeout(5*time.Minute))

	It("should change its rules alone if the allowed ranges change", func(ctx SpecContext) {
		created := running(ctx, request("203.0.113.0/24", "198.51.100.0/24"))
		before := serversOf(ctx)

		requests := label("ingress")
		Expect(part.Ensure(ctx, request("198.51.100.0/24", "192.0.2.1/32"))).To(Equal(created))
		for _, r := range requests() {
			if r.Kind != countproxy.KindRead {
				Expect(r.Path).To(ContainSubstring("/security-group-rules"))
			}
		}
		Expect(serversOf(ctx)).To(HaveExactElements(HaveField("ID", before[0].ID)))
		Expect(shown(groupOf(ctx).Rules)).To(And(ContainElements("ingress IPv4 tcp 22 198.51.100.0/24", "ingress IPv4 tcp 22 192.0.2.1/32"),
			Not(ContainElement(ContainSubstring("203.0.113.0")))))

		Expect(part.Ensure(ctx, request())).To(Equal(created))
		Expect(shown(groupOf(ctx).Rules)).NotTo(ContainElement(HavePrefix("ingress")))
		Expect(part.Delete(ctx, s, name)).To(Succeed())
	}, NodeTimeout(5*time.Minute))

	suite.NightlyIt("should lose nothing if a call ends after any of its requests", func(ctx SpecContext) {
		run := func(what string, operation func(ctx context.Context, part platform.Bastions) error) {
			GinkgoHelper()
			disturbed(ctx, what, "/(servers|ports|floatingips|security-groups|security-group-rules)(/[^/]+)?$",
				func(ctx context.Context) error { return operation(ctx, bastion.New(newSessions())) })
		}
		run("create", func(ctx context.Context, part platform.Bastions) error {
			for {
				if _, err := part.Ensure(ctx, request("203.0.113.0/24")); !platform.IsProgress(err) {
					return err
				}
			}
		})
		Expect(serversOf(ctx)).To(HaveLen(1))
		Expect(portsOf(ctx, name)).To(HaveLen(1))
		groupOf(ctx)
		run("delete", func(ctx context.Context, part platform.Bastions) error { return part.Delete(ctx, s, name) })
		Expect(left(ctx)).To(BeEmpty())
	}, NodeTimeout(8*time.Minute))

	suite.NightlyIt("should be replaced if its server is deleted or fails", func(ctx SpecContext) {
		running(ctx, request("203.0.113.0/24"))
		first := serversOf(ctx)
		Expect(servers.Delete(ctx, made.compute, first[0].ID).ExtractErr()).To(Succeed())
		Eventually(serversOf).WithContext(ctx).Within(time.Minute).Should(BeEmpty())
		running(ctx, request("203.0.113.0/24"))
		second := serversOf(ctx)
		Expect(second).To(HaveLen(1))
		Expect(second[0].ID).NotTo(Equal(first[0].ID))

		admin := newAdministrator(ctx)
		Expect(servers.ResetState(ctx, admin.compute, second[0].ID, servers.StateError).ExtractErr()).To(Succeed())
		_, err := part.Ensure(ctx, request("203.0.113.0/24"))
		Expect(err).To(MatchError(ContainSubstring("ERROR")))
		running(ctx, request("203.0.113.0/24"))
		third := serversOf(ctx)
		Expect(third).To(HaveLen(1))
		Expect(third[0].ID).NotTo(Equal(second[0].ID))
		Expect(part.Delete(ctx, s, name)).To(Succeed())
	}, NodeTimeout(5*time.Minute))

	suite.NightlyIt("should not block the deletion of the infrastructure, whatever is left of it", func(ctx SpecContext) {
		created := running(ctx, request("203.0.113.0/24"))
		Expect(admit(ctx, created.NodeAddresses...)).To(Succeed())
		other := request("203.0.113.0/24")
		other.Name = name + "-2"
		running(ctx, other)
		Expect(part.Delete(ctx, s, other.Name)).To(Succeed())
		Expect(serversOf(ctx)).To(HaveLen(1), "the deletion of another bastion must leave it alone")

		orphans, err := network.Orphans(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphans).To(ContainElements(
			And(HaveField("Kind", "server"), HaveField("Name", name)), And(HaveField("Kind", "port"), HaveField("Name", name)),
			And(HaveField("Kind", "floating IP"), HaveField("Name", created.Address.String())),
			And(HaveField("Kind", "security group"), HaveField("Name", name))))
		Expect(network.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
		Expect(part.Delete(ctx, s, name)).To(Succeed(), "after the infrastructure")
	}, NodeTimeout(5*time.Minute))

	suite.NightlyIt("should not change a given security group", func(ctx SpecContext) {
		s.State.OpenStack.SecurityGroup.Managed = false
		err := admit(ctx, netip.MustParseAddr("10.250.0.9"))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(MatchError(ContainSubstring("10.250.0.9")))
		Expect(admit(ctx)).To(Succeed())
		Expect(nodeRules(ctx)).To(BeEmpty())
		s.State.OpenStack.SecurityGroup.Managed = true
	})

	suite.NightlyIt("should report what the site refuses", func(ctx SpecContext) {
		Expect(proxy.SetFaults(countproxy.Fault{Method: "POST", Path: "/servers$", Action: countproxy.ActionStatus,
			Status: http.StatusForbidden})).To(Succeed())
		_, err := part.Ensure(ctx, request("203.0.113.0/24"))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		Expect(proxy.SetFaults()).To(Succeed())
		Expect(part.Delete(ctx, s, name)).To(Succeed())
		Expect(left(ctx)).To(BeEmpty())
	})
})
