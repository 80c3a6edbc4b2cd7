// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("CloudControllerManagerConfiguration", func() {
	var config *v1alpha1.CloudControllerManagerConfiguration

	BeforeEach(func() {
		config = &v1alpha1.CloudControllerManagerConfiguration{
			Shoot: "shoot--local--a", Region: "west", DefaultSite: "cloud",
			Sites: []v1alpha1.CloudControllerSite{
				{Name: "cloud", OpenStack: &v1alpha1.OpenStackCloudController{
					Connection:   v1alpha1.OpenStackConnection{AuthURL: "https://keystone.example.com/v3", Region: "RegionOne"},
					Zones:        []v1alpha1.OpenStackCloudControllerZone{{Name: "cloud-a", AvailabilityZone: "nova"}},
					LoadBalancer: &v1alpha1.OpenStackLoadBalancer{SubnetID: uuid},
				}},
				{Name: "vc", VSphere: &v1alpha1.VSphereCloudController{
					Connection: v1alpha1.VSphereConnection{Server: "https://vcenter.example.com"},
					Zones: []v1alpha1.VSphereCloudControllerZone{{Name: "vc-1", ComputeCluster: "domain-c7", ResourcePool: "resgroup-8",
						Folder: "group-v9"}},
				}},
				{Name: "racks", Metal: &v1alpha1.MetalCloudController{
					Connection: v1alpha1.MetalConnection{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://metal.example.com:6443",
						Namespace: "hosts"},
					Zones: []v1alpha1.MetalCloudControllerZone{{Name: "rack-1",
						HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}}},
				}},
			},
		}
		v1alpha1.SetCloudControllerManagerConfigurationDefaults(config)
	})

	DescribeTable("what the sites have in common", func(change func(), problems ...problem) {
		change()
		Expect(ValidateCloudControllerManagerConfiguration(config)).To(haveProblems(problems))
	},
		Entry("good", func() {}),
		Entry("no default site", func() { config.DefaultSite = "" }),
		Entry("no shoot and region", func() { config.Shoot, config.Region = "", "" }, problem{required, "shoot"}, problem{required, "region"}),
		Entry("unknown default site", func() { config.DefaultSite = "x" }, problem{notSupported, "defaultSite"}),
		Entry("two sites of a name", func() { config.Sites[1].Name = "cloud" }, problem{duplicate, "sites[1].name"}),
		Entry("reserved name", func() { config.Sites[1].Name = "token" }, problem{invalid, "sites[1].name"}),
		Entry("two zones of a name", func() { config.Sites[1].VSphere.Zones[0].Name = "cloud-a" }, problem{duplicate, "sites[1].zones"}),
		Entry("a zone on two platforms", func() { config.Sites[2].Metal.Zones[0].Name = "vc-1" }, problem{duplicate, "sites[2].zones"}),
		Entry("zone without a name", func() { config.Sites[0].OpenStack.Zones[0].Name = "" }, problem{required, "sites[0].zones"}),
	)

	DescribeTable("a site",
		func(change func(openStack *v1alpha1.OpenStackCloudController, vSphere *v1alpha1.VSphereCloudController), problems ...problem) {
			change(config.Sites[0].OpenStack, config.Sites[1].VSphere)
			errs := append(ValidateCloudControllerSite(&config.Sites[0], field.NewPath("cloud")),
				ValidateCloudControllerSite(&config.Sites[1], field.NewPath("vc"))...)
			Expect(errs).To(haveProblems(problems))
		},
		Entry("good", func(*v1alpha1.OpenStackCloudController, *v1alpha1.VSphereCloudController) {}),
		Entry("without load balancers", func(o *v1alpha1.OpenStackCloudController, _ *v1alpha1.VSphereCloudController) { o.LoadBalancer = nil }),
		Entry("no platform", func(*v1alpha1.OpenStackCloudController, *v1alpha1.VSphereCloudController) {
			config.Sites[0].OpenStack = nil
		}, problem{required, "cloud"}),
		Entry("two platforms", func(_ *v1alpha1.OpenStackCloudController, v *v1alpha1.VSphereCloudController) {
			config.Sites[0].VSphere = v
		}, problem{required, "cloud"}),
		Entry("OpenStack without anything", func(o *v1alpha1.OpenStackCloudController, _ *v1alpha1.VSphereCloudController) {
			*o = v1alpha1.OpenStackCloudController{}
		},
			problem{required, "cloud.openstack.connection.authURL"}, problem{required, "cloud.openstack.connection.region"}, problem{required,
				"cloud.openstack.zones"}),
		Entry("credentials in an address", func(o *v1alpha1.OpenStackCloudController, _ *v1alpha1.VSphereCloudController) {
			o.Connection.AuthURL = "https://u:p@keystone/v3"
		},
			problem{invalid, "cloud.openstack.connection.authURL"}),
		Entry("connection", func(o *v1alpha1.OpenStackCloudController, v *v1alpha1.VSphereCloudController) {
			o.Connection.RequestTimeout = &metav1.Duration{Duration: -time.Second}
			o.Connection.TLS = &v1alpha1.TLS{CACert: "x"}
			v.Connection.Proxy = &v1alpha1.Proxy{URL: "ftp://proxy"}
		}, problem{invalid, "cloud.openstack.connection.requestTimeout"}, problem{invalid,
			"cloud.openstack.connection.tls.caCert"}, problem{invalid, "vc.vsphere.connection.proxy.url"}),
		Entry("zone without its availability zone", func(o *v1alpha1.OpenStackCloudController, _ *v1alpha1.VSphereCloudController) {
			o.Zones[0].AvailabilityZone = ""
		},
			problem{required, "cloud.openstack.zones[0].availabilityZone"}),
		Entry("load balancer", func(o *v1alpha1.OpenStackCloudController, _ *v1alpha1.VSphereCloudController) {
			*o.LoadBalancer = v1alpha1.OpenStackLoadBalancer{Members: "Some", FloatingNetworkID: "x", FloatingSubnetID: "x",
				Classes: []v1alpha1.OpenStackLoadBalancerClass{{}}}
		}, problem{notSupported, "cloud.openstack.loadBalancer.members"}, problem{required, "cloud.openstack.loadBalancer.subnetID"},
			problem{invalid, "cloud.openstack.loadBalancer.floatingNetworkID"}, problem{invalid, "cloud.openstack.loadBalancer.floatingSubnetID"},
			problem{required, "cloud.openstack.loadBalancer.classes[0].name"}),
		Entry("members of all sites with ovn", func(o *v1alpha1.OpenStackCloudController, _ *v1alpha1.VSphereCloudController) {
			o.LoadBalancer.Provider, o.LoadBalancer.Members = "ovn", v1alpha1.LoadBalancerMembersAll
		}, problem{forbidden, "cloud.openstack.loadBalancer.members"}),
		Entry("vSphere without anything", func(_ *v1alpha1.OpenStackCloudController, v *v1alpha1.VSphereCloudController) {
			*v = v1alpha1.VSphereCloudController{}
		},
			problem{required, "vc.vsphere.connection.server"}, problem{required, "vc.vsphere.zones"}),
		Entry("names instead of references", func(_ *v1alpha1.OpenStackCloudController, v *v1alpha1.VSphereCloudController) {
			v.Zones[0].ComputeCluster, v.Zones[0].ResourcePool, v.Zones[0].Folder = "/DC/cluster", "my pool", "/DC/vm/shoot"
		}, problem{invalid, "vc.vsphere.zones[0].computeCluster"}, problem{invalid, "vc.vsphere.zones[0].resourcePool"}, problem{invalid,
			"vc.vsphere.zones[0].folder"}),
		Entry("zone without its folder",
			func(_ *v1alpha1.OpenStackCloudController, v *v1alpha1.VSphereCloudController) { v.Zones[0].Folder = "" }),
		Entry("zone without its cluster", func(_ *v1alpha1.OpenStackCloudController, v *v1alpha1.VSphereCloudController) {
			v.Zones[0].ComputeCluster = ""
		},
			problem{required, "vc.vsphere.zones[0].computeCluster"}),
	)

	DescribeTable("a bare-metal site", func(change func(site *v1alpha1.CloudControllerSite), problems ...problem) {
		change(&config.Sites[2])
		Expect(ValidateCloudControllerSite(&config.Sites[2], field.NewPath("racks"))).To(haveProblems(problems))
	},
		Entry("good", func(*v1alpha1.CloudControllerSite) {}),
		Entry("IronCore and a zone of all hosts", func(s *v1alpha1.CloudControllerSite) {
			s.Metal.Connection.Inventory, s.Metal.Zones[0].HostSelector = v1alpha1.MetalInventoryIronCore, nil
		}),
		Entry("with a further platform", func(s *v1alpha1.CloudControllerSite) { s.VSphere = config.Sites[1].VSphere },
			problem{required, "racks"}),
		Entry("without anything", func(s *v1alpha1.CloudControllerSite) { *s.Metal = v1alpha1.MetalCloudController{} },
			problem{required, "racks.metal.connection.inventory"}, problem{required, "racks.metal.connection.server"},
			problem{required, "racks.metal.connection.namespace"}, problem{required, "racks.metal.zones"}),
		Entry("connection", func(s *v1alpha1.CloudControllerSite) {
			s.Metal.Connection.Inventory, s.Metal.Connection.Server = "Other", "http://metal.example.com"
			s.Metal.Connection.Namespace, s.Metal.Connection.TLS = "a.b", &v1alpha1.TLS{CACert: "x"}
		}, problem{notSupported, "racks.metal.connection.inventory"}, problem{invalid, "racks.metal.connection.server"},
			problem{invalid, "racks.metal.connection.namespace"}, problem{invalid, "racks.metal.connection.tls.caCert"}),
		Entry("selector", func(s *v1alpha1.CloudControllerSite) {
			s.Metal.Zones[0].HostSelector.MatchLabels = map[string]string{"a b": "c"}
		}, problem{invalid, "racks.metal.zones[0].hostSelector.matchLabels"}),
	)

	DescribeTable("the CSI drivers of a site", func(drivers []string, problems ...problem) {
		for i := range config.Sites {
			config.Sites[i].CSIDrivers = drivers
			Expect(ValidateCloudControllerSite(&config.Sites[i], nil)).To(haveProblems(problems))
		}
	},
		Entry("good", []string{"cinder.csi.openstack.org", "csi.vsphere.vmware.com", "Driver"}),
		Entry("no name", []string{""}, problem{required, "csiDrivers[0]"}),
		Entry("twice", []string{"a", "a"}, problem{duplicate, "csiDrivers[1]"}),
		Entry("no name of a driver", []string{"a/b"}, problem{invalid, "csiDrivers[0]"}),
		Entry("too long", []string{strings.Repeat("a", 64)}, problem{tooLong, "csiDrivers[0]"}),
	)

	It("has defaults", func() {
		Expect(config.Sites[0].OpenStack.LoadBalancer).To(And(HaveField("Provider", "amphora"),
			HaveField("Members", v1alpha1.LoadBalancerMembersSite)))
		Expect(config.Sites[0].OpenStack.Connection).To(And(HaveField("EndpointType", "public"),
			HaveField("RequestTimeout.Duration", time.Minute)))
		Expect(config.Sites[1].VSphere.Connection.RequestTimeout.Duration).To(Equal(time.Minute))
		Expect(config.Sites[2].Metal.Connection.RequestTimeout.Duration).To(Equal(time.Minute))
		Expect(config.Sites[0].LoadBalancerMembers()).To(Equal(v1alpha1.LoadBalancerMembersSite))
		Expect(config.Sites[1].LoadBalancerMembers()).To(BeEmpty())
	})
})
