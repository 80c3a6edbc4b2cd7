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

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/exposure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Exposure", func() {
	var (
		shoot   string
		s       *site.Site
		network platform.Infrastructure
		status  *v1alpha1.SiteStatus
		part    platform.Exposures
		made    *services
	)

	BeforeEach(func(ctx SpecContext) {
		shoot = shootName()
		s = newSite(shoot)
		network, part = infrastructure.New(newSessions()), exposure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Eventually(network.Delete).WithContext(ctx).WithArguments(s, keep(s)).Within(3 * time.Minute).Should(Succeed())
		}, NodeTimeout(4*time.Minute))
		var err error
		status, err = network.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		made = newServices(ctx, credentials)
	})

	request := func(endpoints ...string) platform.ExposureRequest {
		r := platform.ExposureRequest{Site: s, Status: status, Port: 443}
		for _, endpoint := range endpoints {
			r.Endpoints = append(r.Endpoints, netip.MustParseAddr(endpoint))
		}
		return r
	}
	balancers := func(ctx SpecContext) []loadbalancers.LoadBalancer {
		GinkgoHelper()
		pages, err := loadbalancers.List(made.balancing, loadbalancers.ListOpts{VipSubnetID: status.OpenStack.SubnetID}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := loadbalancers.ExtractLoadBalancers(pages)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	listenersOf := func(ctx SpecContext) []listeners.Listener {
		GinkgoHelper()
		found := balancers(ctx)
		Expect(found).To(HaveLen(1))
		pages, err := listeners.List(made.balancing, listeners.ListOpts{LoadbalancerID: found[0].ID}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		result, err := listeners.ExtractListeners(pages)
		Expect(err).NotTo(HaveOccurred())
		return result
	}
	membersOf := func(ctx SpecContext) map[string]string {
		GinkgoHelper()
		found := listenersOf(ctx)
		pages, err := pools.ListMembers(made.balancing, found[0].DefaultPoolID, nil).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		members, err := pools.ExtractMembers(pages)
		Expect(err).NotTo(HaveOccurred())
		result := map[string]string{}
		for _, m := range members {
			result[fmt.Sprintf("%s:%d", m.Address, m.ProtocolPort)] = m.ID
		}
		return result
	}
	addressesOf := func(ctx SpecContext) []floatingips.FloatingIP {
		GinkgoHelper()
		pages, err := floatingips.List(made.network, floatingips.ListOpts{
			Description: owner.Owner{Shoot: shoot, Site: s.Name}.OfExposure().Description()}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := floatingips.ExtractFloatingIPs(pages)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	nodeRules := func(ctx SpecContext) []rules.SecGroupRule {
		GinkgoHelper()
		pages, err := rules.List(made.network, rules.ListOpts{SecGroupID: status.OpenStack.SecurityGroupID,
			Description: owner.Owner{Shoot: shoot}.ExposureRule()}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := rules.ExtractRules(pages)
		Expect(err).NotTo(HaveOccurred())
		return found
	}

	It("should lead to the endpoints, follow them, and be deleted", func(ctx SpecContext) {
		address, err := part.Ensure(ctx, request("10.250.0.10", "10.250.0.11"))
		Expect(err).NotTo(HaveOccurred())

		found := balancers(ctx)
		Expect(found).To(ConsistOf(And(HaveField("ProvisioningStatus", "ACTIVE"), HaveField("Name", shoot+"-exposure"))))
		Expect(addressesOf(ctx)).To(ConsistOf(And(HaveField("FloatingIP", address.String()), HaveField("PortID", found[0].VipPortID))))
		listener := listenersOf(ctx)
		Expect(listener).To(ConsistOf(And(HaveField("Protocol", "TCP"), HaveField("ProtocolPort", 443))))
		before := membersOf(ctx)
		Expect(before).To(And(HaveLen(2), HaveKey("10.250.0.10:443"), HaveKey("10.250.0.11:443")))
		pool, err := pools.Get(ctx, made.balancing, listener[0].DefaultPoolID).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(pool.MonitorID).NotTo(BeEmpty())
		allowed := nodeRules(ctx)
		Expect(allowed).To(ConsistOf(And(HaveField("Direction", "ingress"), HaveField("Protocol", "tcp"), HaveField("PortRangeMin", 443),
			HaveField("PortRangeMax", 443), HaveField("RemoteIPPrefix", "0.0.0.0/0"))))

		By("seeing that nothing is to do")
		requests := label("no-op")
		Expect(part.Ensure(ctx, request("10.250.0.10", "10.250.0.11"))).To(Equal(address))
		Expect(requests()).To(And(HaveEach(HaveField("Kind", countproxy.KindRead)), HaveLen(6)))
		_, err = network.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(nodeRules(ctx)).To(Equal(allowed), "the infrastructure must leave them alone")

		By("changing an endpoint")
		requests = label("endpoint")
		Expect(part.Ensure(ctx, request("10.250.0.11", "10.250.0.12"))).To(Equal(address))
		for _, r := range requests() {
			if r.Kind != countproxy.KindRead {
				Expect(r.Path).To(HaveSuffix("/members"))
			}
		}
		after := membersOf(ctx)
		Expect(after).To(And(HaveLen(2), HaveKey("10.250.0.12:443"), HaveKeyWithValue("10.250.0.11:443", before["10.250.0.11:443"])))

		By("changing the port")
		r := request("10.250.0.11")
		r.Port = 6443
		Expect(part.Ensure(ctx, r)).To(Equal(address))
		Expect(listenersOf(ctx)).To(ConsistOf(HaveField("ProtocolPort", 6443)))
		Expect(membersOf(ctx)).To(And(HaveLen(1), HaveKey("10.250.0.11:6443")))
		Expect(nodeRules(ctx)).To(ConsistOf(HaveField("PortRangeMin", 6443)))
		Expect(balancers(ctx)).To(ConsistOf(HaveField("ID", found[0].ID)))

		Expect(part.Delete(ctx, s)).To(Succeed())
		Expect(balancers(ctx)).To(BeEmpty())
		Expect(addressesOf(ctx)).To(BeEmpty())
		Expect(nodeRules(ctx)).To(BeEmpty())
		Expect(part.Delete(ctx, s)).To(Succeed(), "again")
	}, NodeTimeout(8*time.Minute))

	suite.NightlyIt("should not block the deletion of the infrastructure, whatever is left of it", func(ctx SpecContext) {
		address, err := part.Ensure(ctx, request("10.250.0.10"))
		Expect(err).NotTo(HaveOccurred())

		orphans, err := network.Orphans(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphans).To(ContainElements(
			And(HaveField("Kind", "load balancer"), HaveField("Name", shoot+"-exposure")),
			And(HaveField("Kind", "floating IP"), HaveField("Name", address.String()))))
		Expect(network.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
		Expect(part.Delete(ctx, s)).To(Succeed(), "after the infrastructure")
	}, NodeTimeout(5*time.Minute))

	suite.Nightly("that is disturbed", func() {
		It("should lose nothing if a call ends after any of its requests", func(ctx SpecContext) {
			run := func(what string, operation func(ctx context.Context, part platform.Exposures) error) {
				GinkgoHelper()
				disturbed(ctx, what, "/(lbaas|floatingips|security-group-rules)(/|$)",
					func(ctx context.Context) error { return operation(ctx, exposure.New(newSessions())) })
			}
			run("create", func(ctx context.Context, part platform.Exposures) error {
				_, err := part.Ensure(ctx, request("10.250.0.10", "10.250.0.11"))
				return err
			})
			Expect(balancers(ctx)).To(HaveLen(1))
			Expect(listenersOf(ctx)).To(HaveLen(1))
			Expect(membersOf(ctx)).To(HaveLen(2))
			Expect(addressesOf(ctx)).To(HaveLen(1))
			Expect(nodeRules(ctx)).To(HaveLen(1))
			run("delete", func(ctx context.Context, part platform.Exposures) error { return part.Delete(ctx, s) })
			Expect(balancers(ctx)).To(BeEmpty())
			Expect(addressesOf(ctx)).To(BeEmpty())
			Expect(nodeRules(ctx)).To(BeEmpty())
		}, NodeTimeout(8*time.Minute))

		It("should leave alone what is not its own", func(ctx SpecContext) {
			given := func(description string) *loadbalancers.LoadBalancer {
				created, err := loadbalancers.Create(ctx, made.balancing, loadbalancers.CreateOpts{Name: shoot + "-exposure",
					Description: description, VipSubnetID: status.OpenStack.SubnetID}).Extract()
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(func(ctx SpecContext) { made.deleteLoadBalancer(ctx, created.ID) }, NodeTimeout(2*time.Minute))
				return created
			}
			others := []*loadbalancers.LoadBalancer{given("Mine."), given(owner.Owner{Shoot: shoot, Site: s.Name}.Description()),
				given(owner.Owner{Shoot: shoot + "x", Site: s.Name}.OfExposure().Description()),
				given(owner.Owner{Shoot: shoot, Site: "other"}.OfExposure().Description())}

			_, err := part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).NotTo(HaveOccurred())
			Expect(balancers(ctx)).To(HaveLen(len(others) + 1))
			for _, other := range others {
				Expect(made.active(ctx, other.ID).Listeners).To(BeEmpty())
			}
			Expect(part.Delete(ctx, s)).To(Succeed())
			Expect(balancers(ctx)).To(HaveLen(len(others)))
		}, NodeTimeout(5*time.Minute))

		It("should keep its address when its load balancer is replaced", func(ctx SpecContext) {
			address, err := part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).NotTo(HaveOccurred())
			first := balancers(ctx)
			made.deleteLoadBalancer(ctx, first[0].ID)
			Expect(part.Ensure(ctx, request("10.250.0.10"))).To(Equal(address))
			second := balancers(ctx)
			Expect(second).To(ConsistOf(HaveField("ID", Not(Equal(first[0].ID)))))

			By("failing")
			// Octavia has no request that lets a load balancer fail.
			failed := func(listeners string) {
				Expect(proxy.SetFaults(countproxy.Fault{Service: "octavia", Method: http.MethodGet, Path: "/loadbalancers$", Times: 1,
					Action: countproxy.ActionStatus, Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: fmt.Sprintf(`{"loadbalancers": [{"id": %q, "description": %q, "provisioning_status": "ERROR", "listeners": [%s]}]}`,
						second[0].ID, second[0].Description, listeners)})).To(Succeed())
			}
			failed(`{"id": "1"}`)
			_, err = part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).To(MatchError(And(ContainSubstring("ERROR"), ContainSubstring("fail it over"))))
			Expect(balancers(ctx)).To(ConsistOf(HaveField("ID", second[0].ID)), "it may still forward connections")
			failed("")
			_, err = part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).To(MatchError(ContainSubstring("is replaced")))
			Expect(part.Ensure(ctx, request("10.250.0.10"))).To(Equal(address))
			Expect(balancers(ctx)).To(ConsistOf(HaveField("ID", Not(Equal(second[0].ID)))))
			Expect(part.Delete(ctx, s)).To(Succeed())
		}, NodeTimeout(5*time.Minute))

		It("should report what the site refuses", func(ctx SpecContext) {
			admin, none, unlimited := newAdministrator(ctx), 0, -1
			set := func(ctx SpecContext, limit int) {
				_, err := quotas.Update(ctx, admin.balancing, status.OpenStack.ProjectID, quotas.UpdateOpts{Loadbalancer: &limit}).Extract()
				Expect(err).NotTo(HaveOccurred())
			}
			DeferCleanup(func(ctx SpecContext) { set(ctx, unlimited) })
			set(ctx, none)
			_, err := part.Ensure(ctx, request("10.250.0.10"))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassQuota), "%v", err)
			Expect(part.Delete(ctx, s)).To(Succeed())

			s.Network.Nodes = nil
			s.State.OpenStack.SecurityGroup.Managed = false
			set(ctx, unlimited)
			_, err = part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).NotTo(HaveOccurred())
			Expect(nodeRules(ctx)).To(BeEmpty(), "a given security group is not changed")
			s.State.OpenStack.SecurityGroup.Managed = true
			Expect(part.Delete(ctx, s)).To(Succeed())
		}, NodeTimeout(5*time.Minute))

		DescribeTable("should survive answers that are none", func(ctx SpecContext, path, body string) {
			_, err := part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).NotTo(HaveOccurred())
			there := balancers(ctx)[0]
			body = strings.NewReplacer("<port>", there.VipPortID, "<mark>", there.Description).Replace(body)
			Expect(proxy.SetFaults(countproxy.Fault{Method: http.MethodGet, Path: path, Action: countproxy.ActionStatus, Status: http.StatusOK,
				Header: http.Header{"Content-Type": {"application/json"}}, Body: body})).To(Succeed())
			limited, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err = part.Ensure(limited, request("10.250.0.10"))
			Expect(err).To(HaveOccurred())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
			Expect(len(err.Error())).To(BeNumerically("<", 2000))
			Expect(proxy.SetFaults()).To(Succeed())
			_, err = part.Ensure(ctx, request("10.250.0.10"))
			Expect(err).NotTo(HaveOccurred())
			Expect(balancers(ctx)).To(HaveLen(1))
			Expect(part.Delete(ctx, s)).To(Succeed())
		},
			Entry("load balancers", "/loadbalancers$", `{"loadbalancers": 1}`),
			Entry("pools", "/pools$", `{"pools": [{"id": 1}]}`),
			Entry("members that are never those", "/members$", `{"members": [{"id": "1", "address": "`+strings.Repeat("x", 5000)+`"}]}`),
			Entry("an address", "/floatingips$", `{"floatingips": "`+strings.Repeat("x", 5000)+`"}`),
			Entry("an address of each client itself", "/floatingips$",
				`{"floatingips": [{"id": "1", "floating_ip_address": "127.0.0.1", "port_id": "<port>", "description": "<mark>"}]}`),
		)
	})
})
