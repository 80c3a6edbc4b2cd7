// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Leftovers", func() {
	var (
		nodes = ranges{parsed("10.250.0.0/18"), parsed("2001:db8:1::/64")}
		pods  = ranges{parsed("100.96.0.0/11"), parsed("2001:db8:2::/56")}
	)

	DescribeTable("should take routes to pods by way of nodes, and no others",
		func(destination, nextHop string, ours bool) {
			route := routers.Route{DestinationCIDR: destination, NextHop: nextHop}
			if ours {
				Expect(otherRoutes([]routers.Route{route}, nodes, pods)).To(BeEmpty())
			} else {
				Expect(otherRoutes([]routers.Route{route}, nodes, pods)).To(Equal([]routers.Route{route}))
			}
		},
		Entry("pods of a node", "100.96.1.0/24", "10.250.0.7", true),
		Entry("pods of a node, IPv6", "2001:db8:2:1::/64", "2001:db8:1::7", true),
		Entry("all pods", "100.96.0.0/11", "10.250.0.7", true),
		Entry("more than the pods", "100.64.0.0/10", "10.250.0.7", false),
		Entry("other destination", "192.168.7.0/24", "10.250.0.7", false),
		Entry("node of another site", "100.96.1.0/24", "10.250.64.7", false),
		Entry("default route", "0.0.0.0/0", "10.250.0.7", false),
		Entry("malformed destination", "pods", "10.250.0.7", false),
		Entry("malformed next hop", "100.96.1.0/24", "node", false),
	)

	It("should take no route if the ranges are not known", func() {
		routes := []routers.Route{{DestinationCIDR: "100.96.1.0/24", NextHop: "10.250.0.7"}}
		Expect(otherRoutes(routes, nil, pods)).To(Equal(routes))
		Expect(otherRoutes(routes, nodes, nil)).To(Equal(routes))
	})

	It("should know the ranges of a site that is not used any more", func() {
		used := &site.Site{Name: "cloud", Config: &v1alpha1.InfrastructureSite{Name: "cloud"}, Network: site.Network{Nodes: nodes, Pods: pods}}
		state := &v1alpha1.OpenStackState{}
		recordRanges(state, used.Network)

		removed := &site.Site{Name: "cloud", State: &v1alpha1.SiteState{Name: "cloud", OpenStack: state}}
		f := &flow{site: removed, recorder: newRecorder(removed, v1alpha1.OpenStackConnection{}, nil)}
		Expect(f.nodeRanges()).To(Equal(nodes))
		Expect(f.podRanges()).To(Equal(pods))
	})

	DescribeTable("should tell by its members where a load balancer with an address elsewhere leads",
		func(removed bool, members []pools.Member, here bool) {
			s := &site.Site{Name: "cloud", Network: site.Network{Nodes: nodes}}
			if !removed {
				s.Config = &v1alpha1.InfrastructureSite{Name: "cloud"}
			}
			lb := &loadBalancing{flow: &flow{site: s, recorder: newRecorder(s, v1alpha1.OpenStackConnection{}, nil)}, subnets: []string{"ours"}}
			Expect(lb.lead(members)).To(Equal(here))
		},
		Entry("to our subnet", true, []pools.Member{{SubnetID: "ours", Address: "10.250.0.7"}}, true),
		Entry("to another subnet with the same range", true, []pools.Member{{SubnetID: "theirs", Address: "10.250.0.7"}}, false),
		Entry("to our range", true, []pools.Member{{Address: "10.250.0.7"}}, true),
		Entry("to another range", true, []pools.Member{{Address: "10.250.64.7"}}, false),
		Entry("to several sites", true, []pools.Member{{Address: "10.250.0.7"}, {Address: "10.250.64.7"}}, false),
		Entry("nowhere, site not used any more", true, nil, false),
		Entry("nowhere, whole shoot deleted", false, nil, true),
	)

	DescribeTable("should say whether roles allow to make anything",
		func(roles []string, writing, observing bool) {
			Expect(writes(roles)).To(Equal(writing))
			Expect(onlyObserves(roles)).To(Equal(observing))
		},
		Entry("none", nil, false, false),
		Entry("reader", []string{"reader"}, false, false),
		Entry("reader in another case", []string{"Reader"}, false, false),
		Entry("member", []string{"member", "reader"}, true, false),
		Entry("a cloud's own", []string{"network_operator"}, true, false),
		Entry("observer", []string{"reader", "load-balancer_observer"}, false, true),
		Entry("member that observes", []string{"member", "load-balancer_observer"}, true, true),
		Entry("member of all", []string{"member", "load-balancer_observer", "load-balancer_member"}, true, false),
	)
})
