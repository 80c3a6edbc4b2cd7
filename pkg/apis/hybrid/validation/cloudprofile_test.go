// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"fmt"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type (
	profile = v1alpha1.CloudProfileConfig
	spec    = gardencorev1beta1.CloudProfileSpec
)

// on changes one site.
func on(index int, change func(*v1alpha1.CloudProfileSite)) func(*profile, *spec) {
	return func(p *profile, _ *spec) { change(&p.Sites[index]) }
}

func onOpenStack(change func(*v1alpha1.OpenStackProfile)) func(*profile, *spec) {
	return on(0, func(s *v1alpha1.CloudProfileSite) { change(s.OpenStack) })
}

func onImage(index int, change func(*v1alpha1.SiteMachineImage)) func(*profile, *spec) {
	return func(p *profile, _ *spec) {
		change(&p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[index])
	}
}

var _ = Describe("#ValidateCloudProfileConfig", func() {
	validate := func(change func(*profile, *spec), problems ...problem) {
		p, s := newProfile(), newSpec()
		change(p, s)
		Expect(ValidateCloudProfileConfig(p, s, field.NewPath("c"))).To(haveProblems(problems))
	}

	It("accepts nil", func() {
		Expect(ValidateCloudProfileConfig(nil, nil, field.NewPath("c"))).To(haveProblems([]problem{{required, "c"}}))
		Expect(ValidateCloudProfileConfig(&profile{}, nil, field.NewPath("c"))).To(haveProblems([]problem{{required, "c.sites"}}))
		Expect(func() { ValidateCloudProfileConfig(newProfile(), nil, nil) }).NotTo(Panic())
	})

	DescribeTable("sites", validate,
		Entry("valid", func(*profile, *spec) {}),
		Entry("no name", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "" }), problem{required, "c.sites[3].name"}),
		Entry("no DNS label", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "Far.1" }), problem{invalid, "c.sites[3].name"}),
		Entry("20 characters", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = strings.Repeat("a", 20) })),
		Entry("21 characters", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = strings.Repeat("a", 21) }),
			problem{tooLong, "c.sites[3].name"}),
		Entry("reserved: dns", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "dns" }), problem{invalid, "c.sites[3].name"}),
		Entry("reserved: token", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "token" }), problem{invalid, "c.sites[3].name"}),
		Entry("reserved: config", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "config" }), problem{invalid, "c.sites[3].name"}),
		Entry("reserved: userdata", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "userdata" }), problem{invalid, "c.sites[3].name"}),
		Entry("duplicate name", on(3, func(s *v1alpha1.CloudProfileSite) { s.Name = "cloud" }), problem{duplicate, "c.sites[3].name"}),
		Entry("unknown region", on(3, func(s *v1alpha1.CloudProfileSite) { s.Region = "south" }),
			problem{notSupported, "c.sites[3].region"}, problem{notSupported, "c.sites[3].zones[0].name"}, problem{required, "c.sites"}),
		Entry("no platform", on(3, func(s *v1alpha1.CloudProfileSite) { s.OpenStack = nil }), problem{required, "c.sites[3]"}),
		Entry("two platforms", on(3, func(s *v1alpha1.CloudProfileSite) {
			s.VSphere = &v1alpha1.VSphereProfile{Server: "https://vcenter.example.com", Datacenter: "dc-1"}
		}), problem{forbidden, "c.sites[3].vsphere"}),
	)

	DescribeTable("settings of sites", validate,
		Entry("all", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.DNSServers = []string{"192.0.2.1", "2001:db8::1"}
			s.MTU = new(int32(1450))
			s.Timeouts = &v1alpha1.MachineTimeouts{Creation: duration(time.Hour), Health: duration(time.Minute), Drain: duration(time.Second)}
			s.Proxy = &v1alpha1.Proxy{URL: "http://proxy.example.com:3128", NoProxy: []string{"10.0.0.0/8", ".example.com"}}
		})),
		Entry("DNS server that is no IP", on(0, func(s *v1alpha1.CloudProfileSite) { s.DNSServers = []string{"dns.example.com"} }),
			problem{invalid, "c.sites[0].dnsServers[0]"}),
		Entry("duplicate DNS server", on(0, func(s *v1alpha1.CloudProfileSite) { s.DNSServers = []string{"192.0.2.1", "192.0.2.1"} }),
			problem{duplicate, "c.sites[0].dnsServers[1]"}),
		Entry("smallest MTU", on(0, func(s *v1alpha1.CloudProfileSite) { s.MTU = new(int32(1280)) })),
		Entry("maximum of machines", on(0, func(s *v1alpha1.CloudProfileSite) { s.MaximumMachines = new(int32(0)) })),
		Entry("negative maximum of machines", on(0, func(s *v1alpha1.CloudProfileSite) { s.MaximumMachines = new(int32(-1)) }),
			problem{invalid, "c.sites[0].maximumMachines"}),
		Entry("MTU too small", on(0, func(s *v1alpha1.CloudProfileSite) { s.MTU = new(int32(1279)) }), problem{invalid, "c.sites[0].mtu"}),
		Entry("largest MTU", on(0, func(s *v1alpha1.CloudProfileSite) { s.MTU = new(int32(9216)) })),
		Entry("MTU too large", on(0, func(s *v1alpha1.CloudProfileSite) { s.MTU = new(int32(9217)) }), problem{invalid, "c.sites[0].mtu"}),
		Entry("request timeout of zero", on(0, func(s *v1alpha1.CloudProfileSite) { s.RequestTimeout = duration(0) }),
			problem{invalid, "c.sites[0].requestTimeout"}),
		Entry("machine timeouts of zero", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.Timeouts = &v1alpha1.MachineTimeouts{Creation: duration(0), Health: duration(-1), Drain: duration(0)}
		}), problem{invalid, "c.sites[0].timeouts.creation"}, problem{invalid, "c.sites[0].timeouts.health"}, problem{invalid,
			"c.sites[0].timeouts.drain"}),
		Entry("smallest quarantine", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.Quarantine = &v1alpha1.Quarantine{Share: new(int32(0)), MinimumMachines: new(int32(1)), Window: duration(1),
				MaximumDuration: duration(1)}
		})),
		Entry("largest share", on(0, func(s *v1alpha1.CloudProfileSite) { s.Quarantine = &v1alpha1.Quarantine{Share: new(int32(100))} })),
		Entry("quarantine below its limits", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.Quarantine = &v1alpha1.Quarantine{Share: new(int32(-1)), MinimumMachines: new(int32(0)), Window: duration(0),
				MaximumDuration: duration(0)}
		}), problem{invalid, "c.sites[0].quarantine.window"}, problem{invalid, "c.sites[0].quarantine.maximumDuration"},
			problem{invalid, "c.sites[0].quarantine.share"}, problem{invalid, "c.sites[0].quarantine.minimumMachines"}),
		Entry("share of more than everything", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.Quarantine = &v1alpha1.Quarantine{Share: new(int32(101))}
		}), problem{invalid, "c.sites[0].quarantine.share"}),
		Entry("proxy without URL", on(0, func(s *v1alpha1.CloudProfileSite) { s.Proxy = &v1alpha1.Proxy{} }),
			problem{required, "c.sites[0].proxy.url"}),
		Entry("proxy with another scheme", on(0, func(s *v1alpha1.CloudProfileSite) { s.Proxy = &v1alpha1.Proxy{URL: "socks5://proxy"} }),
			problem{invalid, "c.sites[0].proxy.url"}),
		Entry("bad noProxy", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.Proxy = &v1alpha1.Proxy{URL: "http://proxy", NoProxy: []string{"a,b", "", "c"}}
		}), problem{invalid, "c.sites[0].proxy.noProxy[0]"}, problem{invalid, "c.sites[0].proxy.noProxy[1]"}),
	)

	DescribeTable("settings of nodes",
		func(change func(*v1alpha1.NodeSettings), problems ...problem) {
			ca, _ := newCertificate()
			settings := &v1alpha1.NodeSettings{
				NTPServers: []string{"ntp.example.com", "192.0.2.1", "2001:db8::1"},
				RegistryMirrors: []v1alpha1.RegistryMirror{
					{Upstream: "docker.io", Endpoints: []string{"https://mirror.example.com", "https://harbor.example.com:8443/v2/docker_hub"}},
					{Upstream: "registry.example.com:5000", Endpoints: []string{"http://192.0.2.2"}},
					{Upstream: "_default", Endpoints: []string{"https://[2001:db8::2]:5000"}},
				},
				Proxy: &v1alpha1.Proxy{URL: "http://proxy.example.com:3128",
					NoProxy: []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.1", ".example.com", "*.example.com", "api.example.com:443", "*"}},
				CABundle: ca + ca,
			}
			change(settings)
			validate(on(0, func(s *v1alpha1.CloudProfileSite) { s.NodeSettings = settings }), problems...)
		},
		Entry("all", func(*v1alpha1.NodeSettings) {}),
		Entry("none", func(s *v1alpha1.NodeSettings) { *s = v1alpha1.NodeSettings{} }, problem{required, "c.sites[0].nodeSettings"}),
		Entry("too large", func(s *v1alpha1.NodeSettings) { s.CABundle = strings.Repeat(s.CABundle, 30) },
			problem{tooLong, "c.sites[0].nodeSettings"}),
		Entry("time servers that are none", func(s *v1alpha1.NodeSettings) {
			s.NTPServers = []string{"", "a b", "a\nNTP=b", "$(id)", "fe80::1%eth0", "ntp", "ntp"}
		}, problem{invalid, "c.sites[0].nodeSettings.ntpServers[0]"}, problem{invalid, "c.sites[0].nodeSettings.ntpServers[1]"},
			problem{invalid, "c.sites[0].nodeSettings.ntpServers[2]"}, problem{invalid, "c.sites[0].nodeSettings.ntpServers[3]"},
			problem{invalid, "c.sites[0].nodeSettings.ntpServers[4]"}, problem{duplicate, "c.sites[0].nodeSettings.ntpServers[6]"}),
		Entry("registries that are none", func(s *v1alpha1.NodeSettings) {
			s.RegistryMirrors[0].Upstream, s.RegistryMirrors[1].Upstream, s.RegistryMirrors[2].Upstream = "../../x", "https://docker.io", "a:0"
		}, problem{invalid, "c.sites[0].nodeSettings.registryMirrors[0].upstream"},
			problem{invalid, "c.sites[0].nodeSettings.registryMirrors[1].upstream"},
			problem{invalid, "c.sites[0].nodeSettings.registryMirrors[2].upstream"}),
		Entry("a registry twice", func(s *v1alpha1.NodeSettings) { s.RegistryMirrors[1].Upstream = "docker.io" },
			problem{duplicate, "c.sites[0].nodeSettings.registryMirrors[1].upstream"}),
		Entry("mirrors that are none", func(s *v1alpha1.NodeSettings) {
			s.RegistryMirrors[0].Endpoints = nil
			s.RegistryMirrors[1].Endpoints = []string{"mirror", "https://u:p@mirror", "https://m/a\"b", "https://m/%41", "https://m", "https://m"}
		}, problem{required, "c.sites[0].nodeSettings.registryMirrors[0].endpoints"},
			problem{invalid, "c.sites[0].nodeSettings.registryMirrors[1].endpoints[0]"},
			problem{invalid, "c.sites[0].nodeSettings.registryMirrors[1].endpoints[1]"},
			problem{invalid, "c.sites[0].nodeSettings.registryMirrors[1].endpoints[2]"},
			problem{invalid, "c.sites[0].nodeSettings.registryMirrors[1].endpoints[3]"},
			problem{duplicate, "c.sites[0].nodeSettings.registryMirrors[1].endpoints[5]"}),
		Entry("no proxy", func(s *v1alpha1.NodeSettings) { s.Proxy.URL = "" }, problem{required, "c.sites[0].nodeSettings.proxy.url"}),
		Entry("a proxy with credentials", func(s *v1alpha1.NodeSettings) { s.Proxy.URL = "http://u:p@proxy" },
			problem{invalid, "c.sites[0].nodeSettings.proxy.url"}),
		Entry("a proxy with a variable of systemd", func(s *v1alpha1.NodeSettings) { s.Proxy.URL = "http://proxy/%25n" },
			problem{invalid, "c.sites[0].nodeSettings.proxy.url"}),
		Entry("exceptions of the proxy that are none", func(s *v1alpha1.NodeSettings) {
			s.Proxy.NoProxy = []string{"a,b", "", "a\"", "a\nb", "10.0.0.0/33"}
		}, problem{invalid, "c.sites[0].nodeSettings.proxy.noProxy[0]"}, problem{invalid, "c.sites[0].nodeSettings.proxy.noProxy[1]"},
			problem{invalid, "c.sites[0].nodeSettings.proxy.noProxy[2]"}, problem{invalid, "c.sites[0].nodeSettings.proxy.noProxy[3]"},
			problem{invalid, "c.sites[0].nodeSettings.proxy.noProxy[4]"}),
		Entry("a private key", func(s *v1alpha1.NodeSettings) { _, s.CABundle = newCertificate() },
			problem{invalid, "c.sites[0].nodeSettings.caBundle"}),
		Entry("spaces", func(s *v1alpha1.NodeSettings) { s.CABundle = " \n" }, problem{invalid, "c.sites[0].nodeSettings.caBundle"}),
	)

	It("warns of machines that are replaced", func() {
		changed := newProfile()
		for i := range changed.Sites {
			changed.Sites[i].NodeSettings = &v1alpha1.NodeSettings{NTPServers: []string{"ntp"}}
		}
		shoots := []ProfileUse{{Shoot: "p/s", Sites: []string{"cloud"}}}
		Expect(NodeSettingsInShoots(changed, newProfile(), shoots, field.NewPath("c"))).To(ConsistOf(
			`c.sites[0].nodeSettings: the machines of site "cloud" are replaced when their Shoots are reconciled: p/s`))
		Expect(NodeSettingsInShoots(changed, changed, shoots, nil)).To(BeEmpty())
		Expect(NodeSettingsInShoots(changed, nil, shoots, nil)).To(BeEmpty())
	})

	Describe("TLS", func() {
		var ca, key string
		BeforeEach(func() { ca, key = newCertificate() })

		validateTLS := func(tls func() v1alpha1.TLS, problems ...problem) {
			validate(on(0, func(s *v1alpha1.CloudProfileSite) { s.TLS = new(tls()) }), problems...)
		}
		thumbprint := func(bytes int) string { return strings.TrimSuffix(strings.Repeat("aB:", bytes), ":") }

		DescribeTable("is validated", validateTLS,
			Entry("nothing", func() v1alpha1.TLS { return v1alpha1.TLS{} }),
			Entry("bundle", func() v1alpha1.TLS { return v1alpha1.TLS{CACert: "\n" + ca + ca} }),
			Entry("no PEM", func() v1alpha1.TLS { return v1alpha1.TLS{CACert: "text"} }, problem{invalid, "c.sites[0].tls.caCert"}),
			Entry("text behind the PEM", func() v1alpha1.TLS { return v1alpha1.TLS{CACert: ca + "text"} },
				problem{invalid, "c.sites[0].tls.caCert"}),
			Entry("private key", func() v1alpha1.TLS { return v1alpha1.TLS{CACert: ca + key} }, problem{invalid, "c.sites[0].tls.caCert"}),
			Entry("no certificate in the PEM", func() v1alpha1.TLS {
				return v1alpha1.TLS{CACert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}
			}, problem{invalid, "c.sites[0].tls.caCert"}),
			Entry("SHA-1 thumbprint", func() v1alpha1.TLS { return v1alpha1.TLS{Thumbprint: thumbprint(20)} }),
			Entry("SHA-256 thumbprint", func() v1alpha1.TLS { return v1alpha1.TLS{Thumbprint: thumbprint(32)} }),
			Entry("thumbprint of another length", func() v1alpha1.TLS { return v1alpha1.TLS{Thumbprint: thumbprint(21)} },
				problem{invalid, "c.sites[0].tls.thumbprint"}),
			Entry("thumbprint without colons", func() v1alpha1.TLS { return v1alpha1.TLS{Thumbprint: strings.Repeat("ab", 20)} },
				problem{invalid, "c.sites[0].tls.thumbprint"}),
			Entry("insecure", func() v1alpha1.TLS { return v1alpha1.TLS{InsecureSkipVerify: true} }),
			Entry("bundle and thumbprint", func() v1alpha1.TLS { return v1alpha1.TLS{CACert: ca, Thumbprint: thumbprint(20)} },
				problem{forbidden, "c.sites[0].tls.thumbprint"}),
			Entry("bundle and insecure", func() v1alpha1.TLS { return v1alpha1.TLS{CACert: ca, InsecureSkipVerify: true} },
				problem{forbidden, "c.sites[0].tls.insecureSkipVerify"}),
		)

		It("keeps private keys out of messages", func() {
			p := newProfile()
			p.Sites[0].TLS = &v1alpha1.TLS{CACert: key}
			Expect(ValidateCloudProfileConfig(p, newSpec(), nil).ToAggregate().Error()).NotTo(ContainSubstring(strings.Split(key, "\n")[1]))
		})
	})

	DescribeTable("OpenStack", validate,
		Entry("no auth URL", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "" }),
			problem{required, "c.sites[0].openstack.authURL"}),
		Entry("no scheme", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "keystone/v3" }),
			problem{invalid, "c.sites[0].openstack.authURL"}),
		Entry("no host", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "https:///v3" }),
			problem{invalid, "c.sites[0].openstack.authURL"}),
		Entry("no URL", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "https://a b" }),
			problem{invalid, "c.sites[0].openstack.authURL"}),
		Entry("credentials in the URL", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "https://u:p@keystone/v3" }),
			problem{invalid, "c.sites[0].openstack.authURL"}),
		Entry("query in the URL", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "https://keystone/v3?a=b" }),
			problem{invalid, "c.sites[0].openstack.authURL"}),
		Entry("HTTP and port", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.AuthURL = "http://127.0.0.1:5000/v3" })),
		Entry("no region", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.Region = "" }), problem{required, "c.sites[0].openstack.region"}),
		Entry("internal endpoints", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.EndpointType = "internal" })),
		Entry("unknown endpoints", onOpenStack(func(o *v1alpha1.OpenStackProfile) { o.EndpointType = "private" }),
			problem{notSupported, "c.sites[0].openstack.endpointType"}),
		Entry("floating pools", onOpenStack(func(o *v1alpha1.OpenStackProfile) {
			o.FloatingPools = []v1alpha1.OpenStackFloatingPool{{Name: "a"}, {Name: ""}, {Name: "a"}}
		}), problem{required, "c.sites[0].openstack.floatingPools[1].name"}, problem{duplicate, "c.sites[0].openstack.floatingPools[2].name"}),
		Entry("load balancer classes", onOpenStack(func(o *v1alpha1.OpenStackProfile) {
			o.FloatingPools[0].LoadBalancerClasses = []v1alpha1.OpenStackLoadBalancerClass{{Name: "a", Purpose: "default", SubnetID: uuid},
				{Name: "b", Purpose: "private"}, {Name: "c"}}
		})),
		Entry("bad load balancer classes", onOpenStack(func(o *v1alpha1.OpenStackProfile) {
			o.FloatingPools[0].LoadBalancerClasses = []v1alpha1.OpenStackLoadBalancerClass{{Name: "a", Purpose: "private"},
				{Name: "a", Purpose: "public"}, {Name: "b", Purpose: "private", NetworkID: "net"}}
		}), problem{duplicate, "c.sites[0].openstack.floatingPools[0].loadBalancerClasses[1].name"},
			problem{notSupported, "c.sites[0].openstack.floatingPools[0].loadBalancerClasses[1].purpose"},
			problem{duplicate, "c.sites[0].openstack.floatingPools[0].loadBalancerClasses[2].purpose"},
			problem{invalid, "c.sites[0].openstack.floatingPools[0].loadBalancerClasses[2].networkID"}),
		Entry("providers and policies", onOpenStack(func(o *v1alpha1.OpenStackProfile) {
			o.LoadBalancerProviders, o.ServerGroupPolicies = []string{"amphora", "ovn"}, []string{"affinity", "soft-anti-affinity"}
		})),
		Entry("bad providers and policies", onOpenStack(func(o *v1alpha1.OpenStackProfile) {
			o.LoadBalancerProviders, o.ServerGroupPolicies = []string{"ovn", "ovn", ""}, []string{"affinity", "affinity", "none"}
		}), problem{duplicate, "c.sites[0].openstack.loadBalancerProviders[1]"}, problem{required,
			"c.sites[0].openstack.loadBalancerProviders[2]"},
			problem{duplicate, "c.sites[0].openstack.serverGroupPolicies[1]"}, problem{notSupported, "c.sites[0].openstack.serverGroupPolicies[2]"}),
	)

	DescribeTable("vSphere and metal", validate,
		Entry("vSphere", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.VSphere = &v1alpha1.VSphereProfile{Server: "http://vcenter", Topology: &v1alpha1.VSphereTopology{RegionCategory: "r"}}
		}), problem{invalid, "c.sites[1].vsphere.server"}, problem{required, "c.sites[1].vsphere.datacenter"}, problem{required,
			"c.sites[1].vsphere.topology.zoneCategory"}),
		Entry("vSphere topology", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.VSphere.Topology = &v1alpha1.VSphereTopology{RegionCategory: "r", ZoneCategory: "z"}
		})),
		Entry("metal", on(2, func(s *v1alpha1.CloudProfileSite) {
			s.Metal = &v1alpha1.MetalProfile{Inventory: "Tinkerbell", Server: "http://metal", Namespace: "a.b", Cleaning: "all", NodeName: "Serial"}
		}), problem{notSupported, "c.sites[2].metal.inventory"}, problem{invalid, "c.sites[2].metal.server"}, problem{invalid,
			"c.sites[2].metal.namespace"},
			problem{notSupported, "c.sites[2].metal.cleaning"}, problem{notSupported, "c.sites[2].metal.nodeName"}),
	)

	DescribeTable("storage classes", validate,
		Entry("bad name", on(0, func(s *v1alpha1.CloudProfileSite) { s.StorageClasses[0].Name = "A b" }),
			problem{invalid, "c.sites[0].storageClasses[0].name"}),
		Entry("duplicate over sites", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.VSphere.Topology = newTopology()
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "cinder", VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "vSAN"}}}
		}), problem{duplicate, "c.sites[1].storageClasses[0].name"}),
		Entry("a default per site", func(p *profile, _ *spec) {
			p.Sites[0].StorageClasses[0].Default = true
			p.Sites[1].VSphere.Topology = newTopology()
			p.Sites[1].StorageClasses = []v1alpha1.StorageClass{{Name: "b", Default: true,
				VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "vSAN"}}}
		}),
		Entry("two defaults", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "a", Default: true, OpenStack: &v1alpha1.OpenStackStorageClass{}},
				{Name: "b", Default: true, OpenStack: &v1alpha1.OpenStackStorageClass{}}}
		}), problem{invalid, "c.sites[0].storageClasses[1].default"}),
		Entry("no block", on(0, func(s *v1alpha1.CloudProfileSite) { s.StorageClasses[0].OpenStack = nil }),
			problem{required, "c.sites[0].storageClasses[0].openstack"}),
		Entry("another platform's block", on(0, func(s *v1alpha1.CloudProfileSite) { s.StorageClasses[0].Metal = &v1alpha1.MetalStorageClass{} }),
			problem{forbidden, "c.sites[0].storageClasses[0].metal"}),
		Entry("no policy", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.VSphere.Topology = newTopology()
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "b", VSphere: &v1alpha1.VSphereStorageClass{}}}
		}), problem{required, "c.sites[1].storageClasses[0].vsphere.storagePolicy"}),
		Entry("path of local volumes", on(2, func(s *v1alpha1.CloudProfileSite) {
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "b", Metal: &v1alpha1.MetalStorageClass{Path: "/mnt/fast"}},
				{Name: "c", Metal: &v1alpha1.MetalStorageClass{}}}
		})),
		Entry("bad paths of local volumes", on(2, func(s *v1alpha1.CloudProfileSite) {
			for _, path := range []string{"/", "mnt", "/mnt/../etc", "/mnt/", "//mnt"} {
				s.StorageClasses = append(s.StorageClasses,
					v1alpha1.StorageClass{Name: fmt.Sprintf("b%d", len(s.StorageClasses)), Metal: &v1alpha1.MetalStorageClass{Path: path}})
			}
		}), problem{invalid, "c.sites[2].storageClasses[0].metal.path"}, problem{invalid, "c.sites[2].storageClasses[1].metal.path"},
			problem{invalid, "c.sites[2].storageClasses[2].metal.path"}, problem{invalid, "c.sites[2].storageClasses[3].metal.path"},
			problem{invalid, "c.sites[2].storageClasses[4].metal.path"}),
		Entry("what a class may say", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.StorageClasses[0].ReclaimPolicy = corev1.PersistentVolumeReclaimRetain
			s.StorageClasses[0].Parameters = map[string]string{"csi.storage.k8s.io/fstype": "xfs", "other": ""}
			s.StorageClasses[0].Labels = map[string]string{"team": "storage"}
			s.StorageClasses[0].Annotations = map[string]string{"example.com/tier": "gold"}
		})),
		Entry("another policy", on(0, func(s *v1alpha1.CloudProfileSite) { s.StorageClasses[0].ReclaimPolicy = "Recycle" }),
			problem{notSupported, "c.sites[0].storageClasses[0].reclaimPolicy"}),
		Entry("parameters of the site", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.StorageClasses[0].Parameters = map[string]string{"Type": "a", "CSI.storage.k8s.io/node-stage-secret-name": "a", "": "a"}
		}), problem{required, "c.sites[0].storageClasses[0].parameters[]"},
			problem{forbidden, "c.sites[0].storageClasses[0].parameters[CSI.storage.k8s.io/node-stage-secret-name]"},
			problem{forbidden, "c.sites[0].storageClasses[0].parameters[Type]"}),
		Entry("a datastore instead of a policy", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.VSphere.Topology = newTopology()
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "b", VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "vSAN"},
				Parameters: map[string]string{"datastoreURL": "ds:///vmfs/volumes/other/"}}}
		}), problem{forbidden, "c.sites[1].storageClasses[0].parameters[datastoreURL]"}),
		Entry("parameters of local volumes", on(2, func(s *v1alpha1.CloudProfileSite) {
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "b", Metal: &v1alpha1.MetalStorageClass{},
				Parameters: map[string]string{"pathPattern": "../../etc"}}}
		}), problem{forbidden, "c.sites[2].storageClasses[0].parameters"}),
		Entry("labels and annotations that are reserved", on(0, func(s *v1alpha1.CloudProfileSite) {
			s.StorageClasses[0].Labels = map[string]string{v1alpha1.LabelSite: "other", "a b": "c"}
			s.StorageClasses[0].Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true",
				"resources.gardener.cloud/ignore": "true"}
		}), problem{invalid, "c.sites[0].storageClasses[0].labels"},
			problem{forbidden, "c.sites[0].storageClasses[0].labels[" + v1alpha1.LabelSite + "]"},
			problem{forbidden, "c.sites[0].storageClasses[0].annotations[resources.gardener.cloud/ignore]"},
			problem{forbidden, "c.sites[0].storageClasses[0].annotations[storageclass.kubernetes.io/is-default-class]"}),
		Entry("too few volumes on a node", on(0, func(s *v1alpha1.CloudProfileSite) { s.OpenStack.NodeVolumeAttachLimit = new(int32(0)) }),
			problem{invalid, "c.sites[0].openstack.nodeVolumeAttachLimit"}),
		Entry("too many volumes on a node", on(0, func(s *v1alpha1.CloudProfileSite) { s.OpenStack.NodeVolumeAttachLimit = new(int32(257)) }),
			problem{invalid, "c.sites[0].openstack.nodeVolumeAttachLimit"}),
	)

	DescribeTable("zones", validate,
		Entry("same name in another region", func(p *profile, _ *spec) { Expect(p.Sites[3].Zones[0].Name).To(Equal(p.Sites[0].Zones[0].Name)) }),
		Entry("none", on(3, func(s *v1alpha1.CloudProfileSite) { s.Zones = nil }), problem{required, "c.sites[3].zones"},
			problem{required, "c.sites"}),
		Entry("in no site", func(_ *profile, s *spec) {
			s.Regions[0].Zones = append(s.Regions[0].Zones, gardencorev1beta1.AvailabilityZone{Name: "new"})
		}, problem{required, "c.sites"}),
		Entry("in two sites", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.Zones = append(s.Zones, v1alpha1.SiteZone{Name: "cloud-a", VSphere: &v1alpha1.VSphereZone{ComputeCluster: "a", StoragePolicy: "b"}})
		}), problem{invalid, "c.sites[1].zones[1].name"}),
		Entry("twice in a site", on(2, func(s *v1alpha1.CloudProfileSite) { s.Zones = append(s.Zones, s.Zones[0]) }),
			problem{duplicate, "c.sites[2].zones[1].name"}),
		Entry("unknown", on(2, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].Name = "rack-2" }),
			problem{notSupported, "c.sites[2].zones[0].name"}, problem{required, "c.sites"}),
		Entry("of another region", on(3, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].Name = "rack-1" }),
			problem{notSupported, "c.sites[3].zones[0].name"}, problem{required, "c.sites"}),
		Entry("no block", on(0, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].OpenStack = nil }),
			problem{required, "c.sites[0].zones[0].openstack"}),
		Entry("another platform's block", on(0, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].Metal = &v1alpha1.MetalZone{} }),
			problem{forbidden, "c.sites[0].zones[0].metal"}),
		Entry("no availability zone", on(0, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].OpenStack.AvailabilityZone = "" }),
			problem{required, "c.sites[0].zones[0].openstack.availabilityZone"}),
		Entry("no cluster, no datastore", on(1, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere = &v1alpha1.VSphereZone{} }),
			problem{required, "c.sites[1].zones[0].vsphere.computeCluster"}, problem{required, "c.sites[1].zones[0].vsphere.datastore"}),
		Entry("datastore and policy", on(1, func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere.StoragePolicy = "a" }),
			problem{forbidden, "c.sites[1].zones[0].vsphere.storagePolicy"}),
		Entry("policy", on(1, func(s *v1alpha1.CloudProfileSite) {
			s.Zones[0].VSphere.Datastore, s.Zones[0].VSphere.StoragePolicy = "", "a"
		})),
		Entry("bad host selector", on(2, func(s *v1alpha1.CloudProfileSite) {
			s.Zones[0].Metal.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
		}), problem{invalid, "c.sites[2].zones[0].metal.hostSelector.matchLabels"}),
	)

	DescribeTable("machine types", validate,
		Entry("unknown", func(p *profile, _ *spec) { p.MachineTypes[0].Name = "huge" }, problem{notSupported, "c.machineTypes[0].name"},
			problem{required, "c.machineTypes"}),
		Entry("on no site", func(_ *profile, s *spec) {
			s.MachineTypes = append(s.MachineTypes, gardencorev1beta1.MachineType{Name: "new"})
		}, problem{required, "c.machineTypes"}),
		Entry("duplicate", func(p *profile, _ *spec) { p.MachineTypes = append(p.MachineTypes, p.MachineTypes[0]) },
			problem{duplicate, "c.machineTypes[2].name"}),
		Entry("no sites", func(p *profile, _ *spec) { p.MachineTypes[0].Sites = nil }, problem{required, "c.machineTypes[0].sites"}),
		Entry("unknown site", func(p *profile, _ *spec) { p.MachineTypes[0].Sites[0].Name = "moon" },
			problem{notSupported, "c.machineTypes[0].sites[0].name"}),
		Entry("duplicate site", func(p *profile, _ *spec) { p.MachineTypes[0].Sites[1] = p.MachineTypes[0].Sites[0] },
			problem{duplicate, "c.machineTypes[0].sites[1].name"}),
		Entry("no block", func(p *profile, _ *spec) { p.MachineTypes[0].Sites[1].VSphere = nil },
			problem{required, "c.machineTypes[0].sites[1].vsphere"}),
		Entry("another platform's block", func(p *profile, _ *spec) { p.MachineTypes[0].Sites[0].Metal = &v1alpha1.MetalMachineType{} },
			problem{forbidden, "c.machineTypes[0].sites[0].metal"}),
		Entry("no flavor", func(p *profile, _ *spec) { p.MachineTypes[0].Sites[0].OpenStack.Flavor = "" },
			problem{required, "c.machineTypes[0].sites[0].openstack.flavor"}),
		Entry("capacity", func(p *profile, _ *spec) {
			p.MachineTypes[0].Sites[0].Capacity = corev1.ResourceList{"cpu": resource.MustParse("8")}
		}),
		Entry("negative capacity", func(p *profile, _ *spec) {
			p.MachineTypes[0].Sites[0].Capacity = corev1.ResourceList{"cpu": resource.MustParse("-1")}
		}, problem{invalid, "c.machineTypes[0].sites[0].capacity[cpu]"}),
		Entry("bad host selector", func(p *profile, _ *spec) {
			p.MachineTypes[1].Sites[1].Metal.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
		}, problem{invalid, "c.machineTypes[1].sites[1].metal.hostSelector.matchLabels"}),
	)

	DescribeTable("volume types", validate,
		Entry("unknown", func(p *profile, _ *spec) { p.VolumeTypes[0].Name = "slow" }, problem{notSupported, "c.volumeTypes[0].name"},
			problem{required, "c.volumeTypes"}),
		Entry("duplicate", func(p *profile, _ *spec) { p.VolumeTypes = append(p.VolumeTypes, p.VolumeTypes[0]) },
			problem{duplicate, "c.volumeTypes[1].name"}),
		Entry("no sites", func(p *profile, _ *spec) { p.VolumeTypes[0].Sites = nil }, problem{required, "c.volumeTypes[0].sites"}),
		Entry("no type, no policy", func(p *profile, _ *spec) {
			p.VolumeTypes[0].Sites[0].OpenStack.Type, p.VolumeTypes[0].Sites[1].VSphere.StoragePolicy = "", ""
		}, problem{required, "c.volumeTypes[0].sites[0].openstack.type"}, problem{required, "c.volumeTypes[0].sites[1].vsphere.storagePolicy"}),
		Entry("on a metal site", func(p *profile, _ *spec) { p.VolumeTypes[0].Sites[0] = v1alpha1.SiteVolumeType{Name: "racks"} },
			problem{forbidden, "c.volumeTypes[0].sites[0]"}),
	)

	DescribeTable("machine images", validate,
		Entry("unknown", func(p *profile, _ *spec) { p.MachineImages[0].Name = "flatcar" },
			problem{notSupported, "c.machineImages[0].name"}, problem{notSupported, "c.machineImages[0].versions[0].version"}, problem{required,
				"c.machineImages"}),
		Entry("duplicate", func(p *profile, _ *spec) { p.MachineImages = append(p.MachineImages, p.MachineImages[0]) },
			problem{duplicate, "c.machineImages[1].name"}),
		Entry("unknown version", func(p *profile, _ *spec) { p.MachineImages[0].Versions[0].Version = "2.0.0" },
			problem{notSupported, "c.machineImages[0].versions[0].version"}, problem{required, "c.machineImages[0].versions"}),
		Entry("version on no site", func(_ *profile, s *spec) {
			s.MachineImages[0].Versions = append(s.MachineImages[0].Versions,
				gardencorev1beta1.MachineImageVersion{ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: "2.0.0"}})
		}, problem{required, "c.machineImages[0].versions"}),
		Entry("duplicate version", func(p *profile, _ *spec) {
			p.MachineImages[0].Versions = append(p.MachineImages[0].Versions, p.MachineImages[0].Versions[0])
		}, problem{duplicate, "c.machineImages[0].versions[1].version"}),
		Entry("no variants", func(p *profile, _ *spec) { p.MachineImages[0].Versions[0].CapabilityFlavors = nil },
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors"}),
		Entry("no sites", func(p *profile, _ *spec) { p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites = nil },
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].sites"}),
		Entry("unknown site", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.Name = "moon" }),
			problem{notSupported, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].name"}),
		Entry("another platform's block", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.VSphere = &v1alpha1.VSphereImage{Template: "t"} }),
			problem{forbidden, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].vsphere"}),
		Entry("image name", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.OpenStack = &v1alpha1.OpenStackImage{ImageName: "gardenlinux"} })),
		Entry("neither ID nor name", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.OpenStack = &v1alpha1.OpenStackImage{} }),
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].openstack.imageID"}),
		Entry("ID and name", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.OpenStack.ImageName = "gardenlinux" }),
			problem{forbidden, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].openstack.imageName"}),
		Entry("bad ID", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.OpenStack.ImageID = "gardenlinux" }),
			problem{invalid, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].openstack.imageID"}),
		Entry("user data", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.UserData.Format = v1alpha1.UserDataFormatIgnition })),
		Entry("bad user data", onImage(0, func(i *v1alpha1.SiteMachineImage) { i.UserData.Format = "Kickstart" }),
			problem{notSupported, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].userData.format"}),
		Entry("no template", onImage(0, func(i *v1alpha1.SiteMachineImage) {
			*i = v1alpha1.SiteMachineImage{Name: "vc", VSphere: &v1alpha1.VSphereImage{}}
		}), problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[0].vsphere.template"}),
	)

	DescribeTable("capabilities",
		func(machineCapabilities []string, core []gardencorev1beta1.Capabilities, own []map[string][]string, problems ...problem) {
			validate(func(p *profile, s *spec) {
				s.MachineCapabilities[0].Values = machineCapabilities
				s.MachineImages[0].Versions[0].CapabilityFlavors = nil
				for _, capabilities := range core {
					s.MachineImages[0].Versions[0].CapabilityFlavors = append(s.MachineImages[0].Versions[0].CapabilityFlavors,
						gardencorev1beta1.MachineImageFlavor{Capabilities: capabilities})
				}
				sites := p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites
				p.MachineImages[0].Versions[0].CapabilityFlavors = nil
				for _, capabilities := range own {
					p.MachineImages[0].Versions[0].CapabilityFlavors = append(p.MachineImages[0].Versions[0].CapabilityFlavors,
						v1alpha1.MachineImageFlavor{Capabilities: capabilities, Sites: sites})
				}
			}, problems...)
		},
		Entry("defaults", []string{"amd64"}, []gardencorev1beta1.Capabilities{{"architecture": {"amd64"}}}, []map[string][]string{nil}),
		Entry("other order", []string{"amd64", "arm64"}, []gardencorev1beta1.Capabilities{{"architecture": {"amd64", "arm64"}}},
			[]map[string][]string{{"architecture": {"arm64", "amd64"}}}),
		Entry("missing variant", []string{"amd64", "arm64"},
			[]gardencorev1beta1.Capabilities{{"architecture": {"amd64"}},
				{"architecture": {"arm64"}}}, []map[string][]string{{"architecture": {"amd64"}}},
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors"}),
		Entry("duplicate variant", []string{"amd64"}, []gardencorev1beta1.Capabilities{{"architecture": {"amd64"}}},
			[]map[string][]string{nil, {"architecture": {"amd64"}}},
			problem{duplicate, "c.machineImages[0].versions[0].capabilityFlavors[1].capabilities"}),
		Entry("unknown capability", []string{"amd64"}, nil, []map[string][]string{{"color": {"red"}}},
			problem{notSupported, "c.machineImages[0].versions[0].capabilityFlavors[0].capabilities[color]"}),
		Entry("unknown value", []string{"amd64"}, nil, []map[string][]string{{"architecture": {"ppc"}}},
			problem{notSupported, "c.machineImages[0].versions[0].capabilityFlavors[0].capabilities[architecture][0]"}),
		Entry("no value", []string{"amd64"}, nil, []map[string][]string{{"architecture": {}}},
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].capabilities[architecture]"}),
	)
})
