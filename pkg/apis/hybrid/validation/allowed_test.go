// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("What shoots may name on an OpenStack site", func() {
	const other = "0d9b1b4e-0000-4000-8000-000000000001"
	profileWith := func(allowed v1alpha1.OpenStackProfile) *v1alpha1.CloudProfileConfig {
		profile := newProfile()
		site := profile.Sites[0].OpenStack
		site.Networks, site.SecurityGroups = allowed.Networks, allowed.SecurityGroups
		site.ProviderNetworks, site.FloatingNetworks = allowed.ProviderNetworks, allowed.FloatingNetworks
		return profile
	}
	named := func() *v1alpha1.InfrastructureConfig {
		config := newRouted()
		config.Sites[0].OpenStack.Network = &v1alpha1.OpenStackNetwork{ID: uuid}
		config.Sites[0].OpenStack.SecurityGroup = &v1alpha1.OpenStackReference{ID: uuid}
		return config
	}

	DescribeTable("for its infrastructure", func(allowed v1alpha1.OpenStackProfile, problems ...problem) {
		errs := ValidateInfrastructureConfig(named(), profileWith(allowed), newNetworking(), "west", field.NewPath("i"))
		Expect(errs).To(haveProblems(problems))
	},
		Entry("anything without lists", v1alpha1.OpenStackProfile{}),
		Entry("what the lists have", v1alpha1.OpenStackProfile{Networks: []string{other, uuid}, SecurityGroups: []string{uuid}}),
		Entry("not what they do not have", v1alpha1.OpenStackProfile{Networks: []string{other}, SecurityGroups: []string{"db"}},
			problem{notSupported, "i.sites[0].openstack.network.id"}, problem{notSupported, "i.sites[0].openstack.securityGroup.id"}),
		Entry("nothing with empty lists", v1alpha1.OpenStackProfile{Networks: []string{}, SecurityGroups: []string{}},
			problem{notSupported, "i.sites[0].openstack.network.id"}, problem{notSupported, "i.sites[0].openstack.securityGroup.id"}),
	)

	DescribeTable("a provider network", func(allowed *bool, problems ...problem) {
		config := newRouted()
		config.Sites[0].OpenStack.Network = &v1alpha1.OpenStackNetwork{Provider: &v1alpha1.OpenStackProviderNetwork{NetworkType: "vlan",
			PhysicalNetwork: "dc"}}
		errs := ValidateInfrastructureConfig(config, profileWith(v1alpha1.OpenStackProfile{ProviderNetworks: allowed}), newNetworking(), "west",
			field.NewPath("i"))
		Expect(errs).To(haveProblems(problems))
	},
		Entry("by default", nil),
		Entry("if the site has them", new(true)),
		Entry("not if it has none", new(false), problem{forbidden, "i.sites[0].openstack.network.provider"}),
	)

	DescribeTable("for its pools", func(allowed []string, problems ...problem) {
		config := &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "cloud",
			OpenStack: &v1alpha1.OpenStackWorker{AdditionalSecurityGroups: []string{"db", uuid}}}}}
		errs := ValidateWorkerConfig(config, newWorker(), profileWith(v1alpha1.OpenStackProfile{SecurityGroups: allowed}),
			[]string{"cloud", "racks"}, field.NewPath("c"))
		Expect(errs).To(haveProblems(problems))
	},
		Entry("anything without a list", nil),
		Entry("what the list has", []string{"db", uuid}),
		Entry("not what it does not have", []string{"db"}, problem{notSupported, "c.sites[0].openstack.additionalSecurityGroups[1]"}),
	)

	DescribeTable("for its load balancers", func(allowed []string, problems ...problem) {
		profile := profileWith(v1alpha1.OpenStackProfile{FloatingNetworks: allowed})
		profile.Sites[0].OpenStack.FloatingPools[0].LoadBalancerClasses = []v1alpha1.OpenStackLoadBalancerClass{{Name: "x",
			FloatingNetworkID: other}}
		config := &v1alpha1.ControlPlaneConfig{DefaultSite: "cloud",
			Sites: []v1alpha1.ControlPlaneSite{{Name: "cloud", LoadBalancer: &v1alpha1.SiteLoadBalancer{
				OpenStack: &v1alpha1.OpenStackLoadBalancerConfig{Classes: []v1alpha1.OpenStackLoadBalancerClass{
					{Name: "a", FloatingNetworkID: uuid}, {Name: "b", FloatingNetworkID: other}, {Name: "c"},
				}},
			}}}}
		Expect(ValidateControlPlaneConfig(config, newRouted(), profile, newNetworking(), field.NewPath("c"))).To(haveProblems(problems))
	},
		Entry("anything without a list", nil),
		Entry("what the list has", []string{uuid}),
		Entry("not what it does not have, but what a floating pool has", []string{},
			problem{notSupported, "c.sites[0].loadBalancer.openstack.classes[0].floatingNetworkID"}),
	)

	It("should be valid lists", func() {
		profile := profileWith(v1alpha1.OpenStackProfile{
			Networks: []string{uuid, uuid, "net"}, SecurityGroups: []string{"db", ""}, FloatingNetworks: []string{"public"},
		})
		Expect(ValidateCloudProfileConfig(profile, newSpec(), field.NewPath("c"))).To(haveProblems([]problem{
			{duplicate, "c.sites[0].openstack.networks[1]"}, {invalid, "c.sites[0].openstack.networks[2]"},
			{required, "c.sites[0].openstack.securityGroups[1]"}, {invalid, "c.sites[0].openstack.floatingNetworks[0]"},
		}))
	})

	It("should still be nothing after an empty list is written and read again", func() {
		data, err := json.Marshal(v1alpha1.OpenStackProfile{Networks: []string{}})
		Expect(err).NotTo(HaveOccurred())
		read := v1alpha1.OpenStackProfile{}
		Expect(json.Unmarshal(data, &read)).To(Succeed())
		Expect(read.Networks).To(And(BeEmpty(), Not(BeNil())))
		Expect(read.SecurityGroups).To(BeNil())
	})
})
