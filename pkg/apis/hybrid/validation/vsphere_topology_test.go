// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
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
		Entry("a category that is no label", func(s *v1alpha1.CloudProfileSite) { s.VSphere.Topology.ZoneCategory = "zone of hosts" }, problem{invalid, "c.sites[1].vsphere.topology.zoneCategory"}),
		Entry("a tag that is no value of a label", func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere.TopologyTag = "hall 1" }, problem{invalid, "c.sites[1].zones[0].vsphere.topologyTag"}),
		Entry("the region's tag", func(s *v1alpha1.CloudProfileSite) { s.Zones[0].VSphere.TopologyTag = "west" }, problem{invalid, "c.sites[1].zones[0].vsphere.topologyTag"}),
	)

	DescribeTable("of a Shoot", func(change func(one, other *v1alpha1.CloudProfileSite), problems ...problem) {
		p, config := newProfile(), newRouted()
		p.Sites[vc].VSphere.Topology, p.Sites[vc].Zones[0].VSphere.Network = newTopology(), "nodes"
		other := p.Sites[vc].DeepCopy()
		other.Name, other.Zones[0].Name = "vc2", "vc2-1"
		p.Sites = append(p.Sites, *other)
		change(&p.Sites[vc], &p.Sites[len(p.Sites)-1])
		config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: "vc", Nodes: []string{"10.250.2.0/24"}}, v1alpha1.InfrastructureSite{Name: "vc2", Nodes: []string{"10.250.3.0/24"}})
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
		Expect(replaced[0].Detail).To(HavePrefix(`site "vc2" must not be added before the nodes of site "vc", which is removed, are gone: it must `))
		Expect(ValidateReplacedSites(before, config, p, field.NewPath("i"))).To(BeEmpty())
		Expect(ValidateReplacedSites(config, after, p, field.NewPath("i"))).To(BeEmpty())
		Expect(ValidateReplacedSites(nil, after, p, nil)).To(BeEmpty())
		Expect(ValidateReplacedSites(before, nil, p, nil)).To(BeEmpty())
	},
		Entry("at both", func(*v1alpha1.CloudProfileSite, *v1alpha1.CloudProfileSite) {}),
		Entry("at none", func(one, other *v1alpha1.CloudProfileSite) { one.VSphere.Topology, other.VSphere.Topology = nil, nil }),
		Entry("at the first alone", func(_, other *v1alpha1.CloudProfileSite) { other.VSphere.Topology = nil }, problem{invalid, "i.sites[3].name"}),
		Entry("at the second alone", func(one, _ *v1alpha1.CloudProfileSite) { one.VSphere.Topology = nil }, problem{invalid, "i.sites[3].name"}),
		Entry("other categories", func(_, other *v1alpha1.CloudProfileSite) { other.VSphere.Topology.ZoneCategory = "hall" }, problem{invalid, "i.sites[3].name"}),
		Entry("the same tag", func(one, other *v1alpha1.CloudProfileSite) {
			one.Zones[0].VSphere.TopologyTag, other.Zones[0].VSphere.TopologyTag = "a", "a"
		}, problem{invalid, "i.sites[3].name"}),
	)
})
