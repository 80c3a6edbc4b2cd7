// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/vspherecsi"
)

var _ = Describe("Topology of vSphere sites", func() {
	const vc = 1

	DescribeTable("in the CloudProfile", func(change func(*v1alpha1.CloudProfileSite), problems ...problem) {
		p, s := newProfile(), newSpec()
		p.Sites[vc].VSphere.Topology = newTopology()
		change(&p.Sites[vc])
		Expect(ValidateCloudProfileConfig(p, s, field.NewPath("c"))).To(haveProblems(problems))
	},
		Entry("the names of zones as tags", func(*v1alpha1.CloudProfileSite) {}),
		Entry("storage classes without topology", func(s *v1alpha1.CloudProfileSite) {
			s.VSphere.Topology = nil
			s.StorageClasses = []v1alpha1.StorageClass{{Name: "vsan", VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "vSAN"}}}
		}, problem{required, "c.sites[1].vsphere.topology"}),
		Entry("a category that is no label", func(s *v1alpha1.CloudProfileSite) { s.VSphere.Topology.ZoneCategory = "zone of hosts" },
			problem{invalid, "c.sites[1].vsphere.topology.zoneCategory"}),
		Entry("a tag that is no value of a label", func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere.TopologyTag = "hall 1" },
			problem{invalid, "c.sites[1].zones[0].vsphere.topologyTag"}),
		Entry("a datacenter that looks like two", func(s *v1alpha1.CloudProfileSite) { s.VSphere.Datacenter = "a,b" },
			problem{invalid, "c.sites[1].vsphere.datacenter"}),
		Entry("a zone's datacenter with a line break", func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere.Datacenter = "a\r" },
			problem{invalid, "c.sites[1].zones[0].vsphere.datacenter"}),
		Entry("such datacenters without the driver", func(s *v1alpha1.CloudProfileSite) {
			s.VSphere.Topology, s.VSphere.Datacenter, s.Zones[0].VSphere.Datacenter = nil, "a,b", "a\r"
		}),
		Entry("the region's tag", func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere.TopologyTag = "west" },
			problem{invalid, "c.sites[1].zones[0].vsphere.topologyTag"}),
	)

	DescribeTable("of a Shoot", func(change func(one, other *v1alpha1.CloudProfileSite), problems ...problem) {
		p, config := newProfile(), newRouted()
		p.Sites[vc].VSphere.Topology, p.Sites[vc].Zones[0].VSphere.Network = newTopology(), "nodes"
		other := p.Sites[vc].DeepCopy()
		other.Name, other.Zones[0].Name = "vc2", "vc2-1"
		p.Sites = append(p.Sites, *other)
		change(&p.Sites[vc], &p.Sites[len(p.Sites)-1])
		config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: "vc", Nodes: []string{"10.250.2.0/24"}},
			v1alpha1.InfrastructureSite{Name: "vc2", Nodes: []string{"10.250.3.0/24"}})
		Expect(ValidateInfrastructureConfig(config, p, newNetworking(), "west", field.NewPath("i"))).To(haveProblems(problems))

		By("replacing one by the other")
		before, after := config.DeepCopy(), config.DeepCopy()
		before.Sites, after.Sites = before.Sites[:3], slices.Delete(after.Sites, 2, 3)
		replaced := ValidateReplacedSites(before, after, p, field.NewPath("i"))
		if len(problems) == 0 {
			Expect(replaced).To(BeEmpty())
			return
		}
		Expect(replaced).To(haveProblems([]problem{{forbidden, "i.sites[2].name"}}))
		Expect(replaced[0].Detail).To(HavePrefix(
			`site "vc2" must not be added before the nodes of site "vc", which is removed, are gone: it must `))
		Expect(ValidateReplacedSites(before, config, p, field.NewPath("i"))).To(BeEmpty())
		Expect(ValidateReplacedSites(config, after, p, field.NewPath("i"))).To(BeEmpty())
		Expect(ValidateReplacedSites(nil, after, p, nil)).To(BeEmpty())
		Expect(ValidateReplacedSites(before, nil, p, nil)).To(BeEmpty())
	},
		Entry("at both", func(*v1alpha1.CloudProfileSite, *v1alpha1.CloudProfileSite) {}),
		Entry("at none", func(one, other *v1alpha1.CloudProfileSite) { one.VSphere.Topology, other.VSphere.Topology = nil, nil }),
		Entry("at the first alone", func(_, other *v1alpha1.CloudProfileSite) { other.VSphere.Topology = nil },
			problem{invalid, "i.sites[3].name"}),
		Entry("at the second alone", func(one, _ *v1alpha1.CloudProfileSite) { one.VSphere.Topology = nil }, problem{invalid, "i.sites[3].name"}),
		Entry("other categories", func(_, other *v1alpha1.CloudProfileSite) { other.VSphere.Topology.ZoneCategory = "hall" },
			problem{invalid, "i.sites[3].name"}),
		Entry("the same tag", func(one, other *v1alpha1.CloudProfileSite) {
			one.Zones[0].VSphere.TopologyTag, other.Zones[0].VSphere.TopologyTag = "a", "a"
		}, problem{invalid, "i.sites[3].name"}),
		Entry("one vCenter, its host written otherwise", func(one, other *v1alpha1.CloudProfileSite) {
			one.VSphere.Server, other.VSphere.Server = "https://vc.example.com", "https://VC.example.com:443/sdk"
		}),
		Entry("one vCenter, two ports", func(_, other *v1alpha1.CloudProfileSite) { other.VSphere.Server += ":8443" },
			problem{invalid, "i.sites[3].name"}),
		Entry("one vCenter, two ways to trust it",
			func(_, other *v1alpha1.CloudProfileSite) { other.TLS = &v1alpha1.TLS{InsecureSkipVerify: true} }, problem{invalid, "i.sites[3].name"}),
		Entry("one vCenter, with and without a proxy", func(one, _ *v1alpha1.CloudProfileSite) { one.Proxy = &v1alpha1.Proxy{URL: "http://p:1"} },
			problem{invalid, "i.sites[3].name"}),
		Entry("one vCenter, other hosts without the proxy", func(one, other *v1alpha1.CloudProfileSite) {
			one.Proxy, other.Proxy = &v1alpha1.Proxy{URL: "http://p:1", NoProxy: []string{"a"}}, &v1alpha1.Proxy{URL: "http://p:1"}
		}),
		Entry("one vCenter without the driver, two ports", func(one, other *v1alpha1.CloudProfileSite) {
			one.VSphere.Topology, other.VSphere.Topology, other.VSphere.Server = nil, nil, other.VSphere.Server+":8443"
		}),
		Entry("two vCenters", func(_, other *v1alpha1.CloudProfileSite) { other.VSphere.Server = "https://vc2.example.com:8443" }),
		Entry("two vCenters, one thumbprint", func(one, other *v1alpha1.CloudProfileSite) {
			one.TLS, other.VSphere.Server = &v1alpha1.TLS{Thumbprint: "AA:BB"}, "https://vc2.example.com"
		}, problem{invalid, "i.sites[2].name"}),
		Entry("two vCenters, the authority of the second", func(one, other *v1alpha1.CloudProfileSite) {
			one.TLS, other.TLS, other.VSphere.Server = nil, &v1alpha1.TLS{CACert: "PEM"}, "https://vc2.example.com"
		}, problem{invalid, "i.sites[2].name"}),
		Entry("two vCenters, one proxy", func(one, other *v1alpha1.CloudProfileSite) {
			one.Proxy, other.VSphere.Server = &v1alpha1.Proxy{URL: "http://p:1"}, "https://vc2.example.com"
		}),
		Entry("two vCenters, two proxies", func(one, other *v1alpha1.CloudProfileSite) {
			one.Proxy, other.Proxy, other.VSphere.Server = &v1alpha1.Proxy{URL: "http://p:1"}, &v1alpha1.Proxy{URL: "http://q:1"},
				"https://vc2.example.com"
		}, problem{invalid, "i.sites[3].name"}),
	)

	It("may be at five vCenters", func() {
		var sites []*v1alpha1.CloudProfileSite
		for i := range 7 {
			sites = append(sites,
				&v1alpha1.CloudProfileSite{Name: fmt.Sprintf("s%d", i),
					VSphere: &v1alpha1.VSphereProfile{Server: fmt.Sprintf("https://vc%d", i), Topology: newTopology()}})
		}
		sites = append(sites,
			&v1alpha1.CloudProfileSite{Name: "beside", VSphere: &v1alpha1.VSphereProfile{Server: "https://vc0", Topology: newTopology()}})
		Expect(vspherecsi.Conflicts(slices.Delete(slices.Clone(sites), 5, 7))).To(BeEmpty())
		Expect(vspherecsi.Conflicts(sites)).To(HaveExactElements(HaveField("Site", "s5"), HaveField("Site", "s6")))
	})
})
