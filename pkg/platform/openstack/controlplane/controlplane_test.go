// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("CloudController", func() {
	It("should have connection, zones and load balancers", func() {
		s := newSite("cloud")
		s.Site.Profile.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		s.Site.Profile.Proxy = &v1alpha1.Proxy{URL: "http://proxy:3128"}
		s.Site.Profile.RequestTimeout = &metav1.Duration{Duration: time.Minute}
		s.Status.OpenStack.ProjectID = "p"
		controller, err := New().CloudController(s)
		Expect(err).NotTo(HaveOccurred())
		Expect(controller).To(Equal(&v1alpha1.CloudControllerSite{Name: "cloud", OpenStack: &v1alpha1.OpenStackCloudController{
			Connection: v1alpha1.OpenStackConnection{
				AuthURL:        "https://cloud.example.com/v3",
				Region:         "RegionOne",
				TLS:            s.Site.Profile.TLS,
				Proxy:          s.Site.Profile.Proxy,
				RequestTimeout: s.Site.Profile.RequestTimeout,
			},
			ProjectID: "p",
			Zones: []v1alpha1.OpenStackCloudControllerZone{
				{Name: "cloud-b", AvailabilityZone: "nova2"}, {Name: "cloud-a", AvailabilityZone: "nova"}, {Name: "cloud-c", AvailabilityZone: "nova"},
			},
			LoadBalancer: &v1alpha1.OpenStackLoadBalancer{
				Provider: "amphora", Members: v1alpha1.LoadBalancerMembersSite, SubnetID: "nodes", FloatingNetworkID: "network",
				FloatingSubnetID: "subnet",
				Classes:          []v1alpha1.OpenStackLoadBalancerClass{{Name: "of-public", FloatingNetworkID: "own-network"}},
			},
		}}))
	})

	DescribeTable("should name what is not said about the site",
		func(change func(*platform.ControlPlaneSite), message string) {
			s := newSite("cloud")
			change(&s)
			controller, err := New().CloudController(s)
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": `), ContainSubstring(message))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(controller).To(BeNil())
		},
		Entry("site left the CloudProfile", func(s *platform.ControlPlaneSite) { s.Site.Profile = nil }, "CloudProfile"),
		Entry("site changed its platform", func(s *platform.ControlPlaneSite) { s.Site.Profile.OpenStack = nil }, "CloudProfile"),
		Entry("zone of another platform", func(s *platform.ControlPlaneSite) { s.Site.Profile.Zones[1].OpenStack = nil }, `zone "cloud-a"`),
		Entry("no status", func(s *platform.ControlPlaneSite) { s.Status = nil }, "providerStatus"),
		Entry("status of another platform", func(s *platform.ControlPlaneSite) { s.Status.OpenStack = nil }, "providerStatus"),
		Entry("no subnet yet", func(s *platform.ControlPlaneSite) { s.Status.OpenStack.SubnetID = "" }, "subnet"),
		Entry("load balancers that the platform has not", func(s *platform.ControlPlaneSite) {
			s.Settings.LoadBalancer = &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{}}
		}, "metalLB"),
	)

	Describe("load balancers", func() {
		balancer := func(s platform.ControlPlaneSite) *v1alpha1.OpenStackLoadBalancer {
			GinkgoHelper()
			controller, err := New().CloudController(s)
			Expect(err).NotTo(HaveOccurred())
			return controller.OpenStack.LoadBalancer
		}
		with := func(s platform.ControlPlaneSite, config v1alpha1.OpenStackLoadBalancerConfig) platform.ControlPlaneSite {
			s.Settings.LoadBalancer = &v1alpha1.SiteLoadBalancer{OpenStack: &config}
			return s
		}

		DescribeTable("have a provider",
			func(offered []string, chosen, expected string) {
				s := with(newSite("cloud"), v1alpha1.OpenStackLoadBalancerConfig{Provider: chosen})
				s.Site.Profile.OpenStack.LoadBalancerProviders = offered
				Expect(balancer(s).Provider).To(Equal(expected))
			},
			Entry("nobody says one", nil, "", "amphora"),
			Entry("the first of the CloudProfile", []string{"ovn", "amphora"}, "", "ovn"),
			Entry("the shoot owner's", []string{"ovn", "amphora"}, "amphora", "amphora"),
		)

		It("have the members that the shoot owner wants", func() {
			Expect(balancer(with(newSite("cloud"), v1alpha1.OpenStackLoadBalancerConfig{Members: v1alpha1.LoadBalancerMembersAll})).Members).
				To(Equal(v1alpha1.LoadBalancerMembersAll))
		})

		DescribeTable("have the classes of the floating pool",
			func(change func(*platform.ControlPlaneSite), names ...string) {
				s := newSite("cloud")
				change(&s)
				var result []string
				for _, class := range balancer(s).Classes {
					result = append(result, class.Name)
				}
				Expect(result).To(HaveExactElements(names))
			},
			Entry("its own", func(*platform.ControlPlaneSite) {}, "of-public"),
			Entry("none without a pool", func(s *platform.ControlPlaneSite) { s.Site.Config.OpenStack = nil }),
			Entry("none with a pool that the CloudProfile has not",
				func(s *platform.ControlPlaneSite) { s.Site.Config.OpenStack.FloatingPoolName = "gone" }),
			Entry("none if the site was removed", func(s *platform.ControlPlaneSite) { s.Site.Config = nil }),
			Entry("the shoot owner's instead", func(s *platform.ControlPlaneSite) {
				*s = with(*s, v1alpha1.OpenStackLoadBalancerConfig{Classes: []v1alpha1.OpenStackLoadBalancerClass{{Name: "mine"}}})
			}, "mine"),
		)

		type class = v1alpha1.OpenStackLoadBalancerClass

		DescribeTable("keep what a class says and know what it does not say", func(given, expected class) {
			Expect(balancer(with(newSite("cloud"),
				v1alpha1.OpenStackLoadBalancerConfig{Classes: []class{given}})).Classes).To(Equal([]class{expected}))
		},
			Entry("nothing", class{Name: "a"}, class{Name: "a", FloatingNetworkID: "network", FloatingSubnetID: "subnet"}),
			Entry("another network", class{Name: "a", FloatingNetworkID: "own"}, class{Name: "a", FloatingNetworkID: "own"}),
			Entry("another network and subnet", class{Name: "a", FloatingNetworkID: "own", FloatingSubnetID: "part"},
				class{Name: "a", FloatingNetworkID: "own", FloatingSubnetID: "part"}),
			Entry("another subnet", class{Name: "a", FloatingSubnetID: "part"},
				class{Name: "a", FloatingNetworkID: "network", FloatingSubnetID: "part"}),
			Entry("where the VIP is", class{Name: "a", NetworkID: "n", SubnetID: "s"},
				class{Name: "a", NetworkID: "n", SubnetID: "s", FloatingNetworkID: "network", FloatingSubnetID: "subnet"}),
			Entry("a purpose, which is resolved", class{Name: "a", Purpose: "default"},
				class{Name: "a", FloatingNetworkID: "network", FloatingSubnetID: "subnet"}),
		)

		DescribeTable("give Services without a class what the classes with a purpose say",
			func(classes []class, subnet, floatingNetwork, floatingSubnet string) {
				result := balancer(with(newSite("cloud"), v1alpha1.OpenStackLoadBalancerConfig{Classes: classes}))
				Expect([]string{result.SubnetID, result.FloatingNetworkID,
					result.FloatingSubnetID}).To(Equal([]string{subnet, floatingNetwork, floatingSubnet}))
			},
			Entry("no purpose", []class{{Name: "default", SubnetID: "s", FloatingNetworkID: "f"}}, "nodes", "network", "subnet"),
			Entry("private", []class{{Name: "a", Purpose: "private", SubnetID: "s", FloatingNetworkID: "f", FloatingSubnetID: "fs"}}, "s", "network",
				"subnet"),
			Entry("private without a subnet", []class{{Name: "a", Purpose: "private"}}, "nodes", "network", "subnet"),
			Entry("default with everything", []class{{Name: "a", Purpose: "default", SubnetID: "s", FloatingNetworkID: "f", FloatingSubnetID: "fs"}},
				"s", "f", "fs"),
			Entry("default with a network, of which the subnet is none", []class{{Name: "a", Purpose: "default", FloatingNetworkID: "f"}}, "nodes",
				"f", ""),
			Entry("default with the network that it is", []class{{Name: "a", Purpose: "default", FloatingNetworkID: "network"}}, "nodes", "network",
				"subnet"),
			Entry("default with a subnet", []class{{Name: "a", Purpose: "default", FloatingSubnetID: "fs"}}, "nodes", "network", "fs"),
			Entry("default before private", []class{{Name: "a", Purpose: "default", SubnetID: "s"}, {Name: "b", Purpose: "private", SubnetID: "p"}},
				"s", "network", "subnet"),
			Entry("private where default says nothing",
				[]class{{Name: "a", Purpose: "default", FloatingSubnetID: "fs"}, {Name: "b", Purpose: "private", SubnetID: "p"}}, "p", "network", "fs"),
		)

		It("leave the CloudProfile as it is", func() {
			s := newSite("cloud")
			s.Site.Profile.OpenStack.FloatingPools[1].LoadBalancerClasses[0] = class{Name: "a", Purpose: "default"}
			before := s.Site.Profile.DeepCopy()
			balancer(s)
			Expect(s.Site.Profile).To(Equal(before))
		})
	})
})
