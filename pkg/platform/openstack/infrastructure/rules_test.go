// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/securityrule"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

func prefixes(cidrs ...string) []netip.Prefix {
	var result []netip.Prefix
	for _, cidr := range cidrs {
		result = append(result, netip.MustParsePrefix(cidr))
	}
	return result
}

// shown shows a rule in one line.
func shown(r rule) string {
	text := fmt.Sprintf("%s %s", r.Direction, r.EtherType)
	if r.Protocol != "" {
		text += " " + r.Protocol
	}
	if r.Max != 0 {
		text += fmt.Sprintf(" %d-%d", r.Min, r.Max)
	}
	if r.RemoteGroup != "" {
		text += " from group " + r.RemoteGroup
	}
	if r.RemoteCIDR != "" {
		text += " from " + r.RemoteCIDR
	}
	return text
}

func texts(wanted []rule) []string {
	var result []string
	for _, r := range wanted {
		result = append(result, shown(r))
	}
	return result
}

// within are the rules that every security group has.
var within = []string{"egress IPv4", "egress IPv6", "ingress IPv4 from group g", "ingress IPv6 from group g"}

// nodesFrom are the rules for the nodes of another site.
func nodesFrom(etherType, icmp, cidr string) []string {
	var result []string
	for _, what := range []string{
		"tcp 10250-10250",
		"udp 4789-4789", "udp 8472-8472", "udp 6081-6081", "4", "udp 51820-51820", "udp 51871-51871", "tcp 5473-5473", "tcp 179-179", icmp,
	} {
		result = append(result, fmt.Sprintf("ingress %s %s from %s", etherType, what, cidr))
	}
	return result
}

func nodePortsFrom(etherType, cidr string) []string {
	return []string{
		fmt.Sprintf("ingress %s tcp 30000-32767 from %s", etherType, cidr),
		fmt.Sprintf("ingress %s udp 30000-32767 from %s", etherType, cidr),
	}
}

var _ = Describe("Security group rules", func() {
	It("should allow exactly what nodes need", func() {
		network := site.Network{Topology: v1alpha1.TopologyRouted, Subnets: prefixes("10.1.0.0/16"), Nodes: prefixes("10.1.0.0/16"),
			Foreign: prefixes("10.2.0.0/16")}
		Expect(texts(wantedRules("g", network))).To(ConsistOf(
			"egress IPv4",
			"egress IPv6",
			"ingress IPv4 from group g",
			"ingress IPv6 from group g",
			"ingress IPv4 tcp 10250-10250 from 10.2.0.0/16",
			"ingress IPv4 udp 4789-4789 from 10.2.0.0/16",
			"ingress IPv4 udp 8472-8472 from 10.2.0.0/16",
			"ingress IPv4 udp 6081-6081 from 10.2.0.0/16",
			"ingress IPv4 4 from 10.2.0.0/16",
			"ingress IPv4 udp 51820-51820 from 10.2.0.0/16",
			"ingress IPv4 udp 51871-51871 from 10.2.0.0/16",
			"ingress IPv4 tcp 5473-5473 from 10.2.0.0/16",
			"ingress IPv4 tcp 179-179 from 10.2.0.0/16",
			"ingress IPv4 icmp from 10.2.0.0/16",
			"ingress IPv4 tcp 30000-32767 from 0.0.0.0/0",
			"ingress IPv4 udp 30000-32767 from 0.0.0.0/0",
		))
	})

	It("should allow metrics of nodes to be read", func() {
		Expect(texts(metricRules(site.Network{Foreign: prefixes("10.2.0.0/16")}))).To(ConsistOf(
			"ingress IPv4 tcp 10249-10249 from 10.2.0.0/16",
			"ingress IPv4 tcp 16909-16910 from 10.2.0.0/16",
			"ingress IPv4 tcp 9253-9253 from 10.2.0.0/16",
			"ingress IPv4 tcp 9353-9353 from 10.2.0.0/16",
			"ingress IPv4 tcp 9090-9094 from 10.2.0.0/16",
			"ingress IPv4 tcp 6942-6942 from 10.2.0.0/16",
		))
	})

	DescribeTable("by the node network",
		func(network site.Network, expected ...[]string) {
			all := within
			for _, part := range expected {
				all = append(all[:len(all):len(all)], part...)
			}
			Expect(texts(wantedRules("g", network))).To(ConsistOf(all))
		},
		Entry("the only site", site.Network{Topology: v1alpha1.TopologyRouted, Subnets: prefixes("10.1.0.0/16")},
			nodePortsFrom("IPv4", "0.0.0.0/0")),
		Entry("Stretched: the ranges of the other sites, not the whole network",
			site.Network{Topology: v1alpha1.TopologyStretched, Subnets: prefixes("10.0.0.0/8"), Nodes: prefixes("10.1.0.0/16"),
				Foreign: prefixes("10.2.0.0/16")},
			nodesFrom("IPv4", "icmp", "10.2.0.0/16"), nodePortsFrom("IPv4", "0.0.0.0/0")),
		Entry("several other sites",
			site.Network{Topology: v1alpha1.TopologyRouted, Subnets: prefixes("10.1.0.0/16"), Foreign: prefixes("10.2.0.0/16", "192.168.0.0/24")},
			nodesFrom("IPv4", "icmp", "10.2.0.0/16"), nodesFrom("IPv4", "icmp", "192.168.0.0/24"), nodePortsFrom("IPv4", "0.0.0.0/0")),
		Entry("IPv6", site.Network{Topology: v1alpha1.TopologyRouted, Subnets: prefixes("2001:db8:1::/64"), Foreign: prefixes("2001:db8:2::/64")},
			nodesFrom("IPv6", "ipv6-icmp", "2001:db8:2::/64"), nodePortsFrom("IPv6", "::/0")),
		Entry("both families",
			site.Network{Topology: v1alpha1.TopologyStretched, Subnets: prefixes("10.0.0.0/8", "2001:db8::/48"),
				Foreign: prefixes("10.2.0.0/16", "2001:db8:0:2::/64")},
			nodesFrom("IPv4", "icmp", "10.2.0.0/16"), nodesFrom("IPv6", "ipv6-icmp", "2001:db8:0:2::/64"), nodePortsFrom("IPv4",
				"0.0.0.0/0"), nodePortsFrom("IPv6", "::/0")),
		Entry("a range with host bits, which the API drops",
			site.Network{Topology: v1alpha1.TopologyRouted, Subnets: prefixes("10.1.0.0/16"), Foreign: prefixes("10.2.0.7/16")},
			nodesFrom("IPv4", "icmp", "10.2.0.0/16"), nodePortsFrom("IPv4", "0.0.0.0/0")),
	)

	DescribeTable("canonicalProtocol",
		func(returned, canonical string) {
			Expect(securityrule.CanonicalProtocol(returned)).To(Equal(canonical))
		},
		Entry("any", "", ""),
		Entry("tcp", "tcp", "tcp"),
		Entry("icmp", "icmp", "icmp"),
		Entry("IPv6 ICMP", "ipv6-icmp", "ipv6-icmp"),
		Entry("IPv6 ICMP under its old name", "icmpv6", "ipv6-icmp"),
		Entry("IP in IP by number", "4", "4"),
		Entry("IP in IP by name", "ipip", "4"),
	)

	Describe("ensureRules", func() {
		var (
			f        *flow
			group    *groups.SecGroup
			requests []string
			// refused is the body of creations that the quota refuses, as often as refusals says.
			refused  string
			refusals int
		)

		BeforeEach(func() {
			requests, refused, refusals = nil, "", 100
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests = append(requests, r.Method+" "+r.URL.Path)
				if r.Method == http.MethodDelete {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				body, err := io.ReadAll(r.Body)
				if refused != "" && strings.Contains(string(body), refused) && refusals > 0 {
					refusals--
					w.WriteHeader(http.StatusConflict)
					_, _ = w.Write([]byte(`{"NeutronError": {"type": "OverQuota", "detail": "", ` +
						`"message": "Quota exceeded for resources: ['security_group_rule']."}}`))
					return
				}
				if err == nil {
					w.WriteHeader(http.StatusCreated)
				}
				_, _ = w.Write([]byte(`{"security_group_rules": []}`))
			}))
			DeferCleanup(server.Close)
			f = &flow{
				network: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/"},
				site:    &site.Site{Network: site.Network{Subnets: prefixes("2001:db8:1::/64"), Foreign: prefixes("2001:db8:2::/64")}},
			}
			group = &groups.SecGroup{ID: "g"}
			for i, r := range append(wantedRules("g", f.site.Network), metricRules(f.site.Network)...) {
				protocol := r.Protocol
				switch protocol {
				case "ipv6-icmp":
					protocol = "icmpv6"
				case "4":
					protocol = "ipip"
				}
				group.Rules = append(group.Rules, rules.SecGroupRule{
					ID: fmt.Sprintf("r%d", i), Direction: string(r.Direction), EtherType: string(r.EtherType), Protocol: protocol,
					PortRangeMin: r.Min, PortRangeMax: r.Max, RemoteGroupID: r.RemoteGroup, RemoteIPPrefix: r.RemoteCIDR,
				})
			}
		})

		It("should do nothing if all rules are there, also under the API's own names", func(ctx SpecContext) {
			Expect(ensureRules(ctx, f, group)).To(Succeed())
			Expect(requests).To(BeEmpty())
		})

		It("should leave rules for bastions of the shoot alone, and no others'", func(ctx SpecContext) {
			f.owner = owner.Owner{Shoot: "shoot--a--b", Site: "cloud"}
			ssh := rules.SecGroupRule{Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 22, PortRangeMax: 22}
			ours, others := ssh, ssh
			ours.ID, ours.Description = "ours", f.owner.BastionRule("shoot--a--b-bastion-x")
			others.ID, others.Description = "others", owner.Owner{Shoot: "shoot--a--bc"}.BastionRule("x")
			group.Rules = append(group.Rules, ours, others)
			Expect(ensureRules(ctx, f, group)).To(Succeed())
			Expect(requests).To(Equal([]string{"DELETE /security-group-rules/others"}))
		})

		It("should add what is missing in one request, before it deletes what is too much", func(ctx SpecContext) {
			group.Rules = append(group.Rules[2:],
				rules.SecGroupRule{ID: "ssh", Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 22, PortRangeMax: 22})
			Expect(ensureRules(ctx, f, group)).To(Succeed())
			Expect(requests).To(Equal([]string{"POST /security-group-rules", "DELETE /security-group-rules/ssh"}))
		})

		DescribeTable("should give the room of rules for metrics to those that are needed",
			func(ctx SpecContext, times int, class platform.Class, last ...string) {
				refused, refusals = "51871", times
				group.Rules = slices.DeleteFunc(group.Rules, func(r rules.SecGroupRule) bool { return r.PortRangeMin == 51871 })
				group.Rules = append(group.Rules,
					rules.SecGroupRule{ID: "ssh", Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 22, PortRangeMax: 22})
				err := ensureRules(ctx, f, group)
				if class == "" {
					Expect(err).NotTo(HaveOccurred())
				} else {
					Expect(platform.ClassOf(err)).To(Equal(class))
				}

				expected := []string{"POST /security-group-rules"}
				metrics := metricRules(f.site.Network)
				for _, r := range group.Rules {
					if slices.Contains(metrics, securityrule.Of(r)) {
						expected = append(expected, "DELETE /security-group-rules/"+r.ID)
					}
				}
				Expect(expected).To(HaveLen(1 + len(metrics)))
				Expect(requests).To(Equal(append(expected, last...)))
			},
			Entry("which they get", 1, platform.Class(""), "POST /security-group-rules", "DELETE /security-group-rules/ssh"),
			Entry("which does not suffice", 2, platform.ClassQuota, "POST /security-group-rules"),
		)

		DescribeTable("should be refused by the quota", func(ctx SpecContext, what string, class platform.Class, expected ...string) {
			refused = what
			group.Rules = []rules.SecGroupRule{{ID: "ssh", Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: 22,
				PortRangeMax: 22}}
			err := ensureRules(ctx, f, group)
			if class == "" {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(platform.ClassOf(err)).To(Equal(class))
			}
			Expect(requests).To(Equal(expected))
		},
			Entry("rules that are needed", "51871", platform.ClassQuota, "POST /security-group-rules"),
			Entry("but not for metrics", "16909", platform.Class(""), "POST /security-group-rules", "DELETE /security-group-rules/ssh",
				"POST /security-group-rules"),
		)
	})
})
