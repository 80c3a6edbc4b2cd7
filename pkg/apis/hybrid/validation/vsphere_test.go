// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("vSphere sites", func() {
	const vc = 1

	onSite := func(change func(*v1alpha1.VSphereProfile, *v1alpha1.VSphereZone)) func(*profile, *spec) {
		return on(vc, func(s *v1alpha1.CloudProfileSite) { change(s.VSphere, s.Zones[0].VSphere) })
	}
	onTemplate := func(image v1alpha1.VSphereImage) func(*profile, *spec) {
		return func(p *profile, _ *spec) {
			flavor := &p.MachineImages[0].Versions[0].CapabilityFlavors[0]
			flavor.Sites = append(flavor.Sites,
				v1alpha1.SiteMachineImage{Name: "vc", UserData: &v1alpha1.UserData{Format: v1alpha1.UserDataFormatCloudInit}, VSphere: &image})
		}
	}

	DescribeTable("in the CloudProfile", func(change func(*profile, *spec), problems ...problem) {
		p, s := newProfile(), newSpec()
		change(p, s)
		Expect(ValidateCloudProfileConfig(p, s, field.NewPath("c"))).To(haveProblems(problems))
	},
		Entry("topology with a tag", onSite(func(p *v1alpha1.VSphereProfile, z *v1alpha1.VSphereZone) {
			p.Topology, z.TopologyTag = &v1alpha1.VSphereTopology{RegionCategory: "region", ZoneCategory: "zone"}, "vc-1"
		})),
		Entry("tag without topology", onSite(func(_ *v1alpha1.VSphereProfile, z *v1alpha1.VSphereZone) { z.TopologyTag = "vc-1" }),
			problem{forbidden, "c.sites[1].zones[0].vsphere.topologyTag"}),
		Entry("one category for both", onSite(func(p *v1alpha1.VSphereProfile, z *v1alpha1.VSphereZone) {
			p.Topology, z.TopologyTag = &v1alpha1.VSphereTopology{RegionCategory: "zone", ZoneCategory: "zone"}, "vc-1"
		}), problem{duplicate, "c.sites[1].vsphere.topology.zoneCategory"}),
		Entry("another datacenter of a zone", onSite(func(_ *v1alpha1.VSphereProfile, z *v1alpha1.VSphereZone) { z.Datacenter = "dc-2" })),
		Entry("a template for a zone",
			onTemplate(v1alpha1.VSphereImage{Template: "t", Zones: []v1alpha1.VSphereImageZone{{Name: "vc-1", Template: "t-1"}}})),
		Entry("no template", onTemplate(v1alpha1.VSphereImage{}),
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[2].vsphere.template"}),
		Entry("a zone without a template", onTemplate(v1alpha1.VSphereImage{Template: "t", Zones: []v1alpha1.VSphereImageZone{{Name: "vc-1"}}}),
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[2].vsphere.zones[0].template"}),
		Entry("two templates for a zone",
			onTemplate(v1alpha1.VSphereImage{Template: "t",
				Zones: []v1alpha1.VSphereImageZone{{Name: "vc-1", Template: "a"}, {Name: "vc-1", Template: "b"}}}),
			problem{duplicate, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[2].vsphere.zones[1].name"}),
		Entry("a template for another site's zone",
			onTemplate(v1alpha1.VSphereImage{Template: "t", Zones: []v1alpha1.VSphereImageZone{{Name: "cloud-a", Template: "t-1"}}}),
			problem{notSupported, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[2].vsphere.zones[0].name"}),
		Entry("a template for no zone", onTemplate(v1alpha1.VSphereImage{Template: "t", Zones: []v1alpha1.VSphereImageZone{{Template: "t-1"}}}),
			problem{required, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[2].vsphere.zones[0].name"}),
		Entry("a template for a zone of an unknown site", func(p *profile, s *spec) {
			onTemplate(v1alpha1.VSphereImage{Template: "t", Zones: []v1alpha1.VSphereImageZone{{Name: "vc-1", Template: "t-1"}}})(p, s)
			p.MachineImages[0].Versions[0].CapabilityFlavors[0].Sites[2].Name = "vc-x"
		}, problem{notSupported, "c.machineImages[0].versions[0].capabilityFlavors[0].sites[2].name"}),
		Entry("extra config that is never allowed", func(p *profile, _ *spec) {
			p.Sites[vc].VSphere.Allowed = &v1alpha1.VSphereAllowed{ExtraConfig: []string{"sched.cpu.latencySensitivity", "RemoteDisplay.vnc.port"}}
		}, problem{invalid, "c.sites[1].vsphere.allowed.extraConfig[1]"}),
		Entry("reserved extra config of a machine type", func(p *profile, _ *spec) {
			p.MachineTypes[0].Sites[vc].VSphere.ExtraConfig = map[string]string{"guestinfo.userdata": "x", "disk.EnableUUID": "TRUE"}
		}, problem{forbidden, "c.machineTypes[0].sites[1].vsphere.extraConfig[guestinfo.userdata]"}),
	)

	DescribeTable("in the InfrastructureConfig", func(ofZone, ofShoot string, problems ...problem) {
		p := newProfile()
		p.Sites[vc].Zones[0].VSphere.Network = ofZone
		config := newRouted()
		config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: "vc", Nodes: []string{"10.250.2.0/24"}})
		if ofShoot != "" {
			config.Sites[2].VSphere = &v1alpha1.VSphereInfrastructure{Network: ofShoot}
		}
		Expect(ValidateInfrastructureConfig(config, p, newNetworking(), "west", field.NewPath("i"))).To(haveProblems(problems))
	},
		Entry("the zone's network", "nodes", ""),
		Entry("the shoot's network", "", "mine"),
		Entry("both", "nodes", "mine"),
		Entry("none", "", "", problem{required, "i.sites[2].vsphere.network"}),
	)

	DescribeTable("addresses from a pool", func(change func(*v1alpha1.CloudProfileSite, *v1alpha1.InfrastructureSite), problems ...problem) {
		p := newProfile()
		p.Sites[vc].VSphere.IPAM = &v1alpha1.VSphereIPAMProfile{Server: "https://ipam.example.com", Namespace: "nodes"}
		config := newRouted()
		config.Sites = append(config.Sites, v1alpha1.InfrastructureSite{Name: "vc", Nodes: []string{"10.250.2.0/24"},
			DNSServers: []string{"192.0.2.53"}, VSphere: &v1alpha1.VSphereInfrastructure{Network: "mine", IPAM: &v1alpha1.IPAM{PoolRef: corev1.
					TypedLocalObjectReference{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool", Name: "nodes"}}}})
		change(&p.Sites[vc], &config.Sites[2])
		Expect(ValidateInfrastructureConfig(config, p, newNetworking(), "west", field.NewPath("i"))).To(haveProblems(problems))
	},
		Entry("any", func(*v1alpha1.CloudProfileSite, *v1alpha1.InfrastructureSite) {}),
		Entry("listed", func(p *v1alpha1.CloudProfileSite, s *v1alpha1.InfrastructureSite) {
			p.VSphere.IPAM.AddressPools = []corev1.TypedLocalObjectReference{s.VSphere.IPAM.PoolRef}
		}),
		Entry("not listed", func(p *v1alpha1.CloudProfileSite, _ *v1alpha1.InfrastructureSite) {
			p.VSphere.IPAM.AddressPools = []corev1.TypedLocalObjectReference{{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "InClusterIPPool",
				Name: "others"}}
		}, problem{forbidden, "i.sites[2].vsphere.ipam.poolRef"}),
		Entry("no IPAM at the site", func(p *v1alpha1.CloudProfileSite, _ *v1alpha1.InfrastructureSite) { p.VSphere.IPAM = nil },
			problem{forbidden, "i.sites[2].vsphere.ipam"}),
		Entry("no name", func(_ *v1alpha1.CloudProfileSite, s *v1alpha1.InfrastructureSite) { s.VSphere.IPAM.PoolRef.Name = "" },
			problem{required, "i.sites[2].vsphere.ipam.poolRef.name"}),
		Entry("no resolver", func(p *v1alpha1.CloudProfileSite, s *v1alpha1.InfrastructureSite) {
			p.DNSServers, s.DNSServers = nil, nil
		},
			problem{required, "i.sites[2].dnsServers"}),
	)

	It("should allow extra config by the CloudProfile alone, and any network, tag and policy unless it says which", func() {
		worker, p := newWorker(), newProfile()
		worker.Machine.Type, worker.Zones = "std", []string{"vc-1"}
		workerConfig := &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "vc", VSphere: &v1alpha1.VSphereWorker{
			ExtraConfig: map[string]string{"sched.cpu.latencySensitivity": "high"}, Tags: []string{"any/tag"},
		}}}}
		Expect(ValidateWorkerConfig(workerConfig, worker, p, []string{"vc"}, field.NewPath("w"))).
			To(haveProblems([]problem{{invalid, "w.sites[0].vsphere.extraConfig[sched.cpu.latencySensitivity]"}}))

		config := &v1alpha1.InfrastructureConfig{Sites: []v1alpha1.InfrastructureSite{{Name: "vc",
			VSphere: &v1alpha1.VSphereInfrastructure{Network: "/dc/network/management"}}}}
		Expect(ValidateAllowed(config, p, field.NewPath("i"))).To(BeEmpty())
		p.Sites[vc].VSphere.Allowed = &v1alpha1.VSphereAllowed{Networks: []string{"nodes"}}
		Expect(ValidateAllowed(config, p, field.NewPath("i"))).To(haveProblems([]problem{{notSupported, "i.sites[0].vsphere.network"}}))
		config.Sites[0].VSphere.Network = "nodes"
		Expect(ValidateAllowed(config, p, field.NewPath("i"))).To(BeEmpty())
	})

	DescribeTable("in the WorkerConfig", func(config v1alpha1.VSphereWorker, problems ...problem) {
		worker, profile := newWorker(), newProfile()
		profile.Sites[vc].VSphere.Allowed = &v1alpha1.VSphereAllowed{ExtraConfig: []string{"Sched.swap.vmxSwapEnabled"},
			Tags: []string{"backup/daily"}, StoragePolicies: []string{}}
		worker.Machine.Type, worker.Zones = "std", []string{"vc-1"}
		workerConfig := &v1alpha1.WorkerConfig{Sites: []v1alpha1.WorkerSite{{Name: "vc", VSphere: &config}}}
		Expect(ValidateWorkerConfig(workerConfig, worker, profile, []string{"vc"}, field.NewPath("w"))).To(haveProblems(problems))
	},
		Entry("everything",
			v1alpha1.VSphereWorker{AntiAffinity: true, ExtraConfig: map[string]string{"sched.swap.vmxSwapEnabled": "FALSE"},
				Tags: []string{"backup/daily"}}),
		Entry("reserved extra config in capitals", v1alpha1.VSphereWorker{ExtraConfig: map[string]string{"GuestInfo.metadata": "x"}},
			problem{forbidden, "w.sites[0].vsphere.extraConfig[GuestInfo.metadata]"}),
		Entry("our own mark", v1alpha1.VSphereWorker{ExtraConfig: map[string]string{"gardener.shoot": "x"}},
			problem{forbidden, "w.sites[0].vsphere.extraConfig[gardener.shoot]"}),
		Entry("extra config that the site does not allow",
			v1alpha1.VSphereWorker{ExtraConfig: map[string]string{"isolation.tools.copy.disable": "x"}},
			problem{invalid, "w.sites[0].vsphere.extraConfig[isolation.tools.copy.disable]"}),
		Entry("extra config with a blank before what is reserved", v1alpha1.VSphereWorker{ExtraConfig: map[string]string{" guestinfo.x": "x"}},
			problem{forbidden, "w.sites[0].vsphere.extraConfig[ guestinfo.x]"}),
		Entry("a tag that the site does not allow", v1alpha1.VSphereWorker{Tags: []string{"backup/never"}},
			problem{notSupported, "w.sites[0].vsphere.tags[0]"}),
		Entry("the tag of another shoot", v1alpha1.VSphereWorker{Tags: []string{"gardener-shoot/shoot--p--n.vc"}},
			problem{forbidden, "w.sites[0].vsphere.tags[0]"}),
		Entry("a tag without a category", v1alpha1.VSphereWorker{Tags: []string{"daily"}}, problem{invalid, "w.sites[0].vsphere.tags[0]"}),
		Entry("a tag twice", v1alpha1.VSphereWorker{Tags: []string{"backup/daily", "backup/daily"}},
			problem{duplicate, "w.sites[0].vsphere.tags[1]"}),
	)
})
