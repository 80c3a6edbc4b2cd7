// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("#Storage", func() {
	in := func(zones ...string) []corev1.TopologySelectorTerm {
		return []corev1.TopologySelectorTerm{{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.csi.vmware.com/k8s-zone", Values: zones}}}}
	}

	It("should keep the volumes of each site at its zones", func() {
		storage, err := New().Storage([]platform.ControlPlaneSite{east(), west()})
		Expect(err).NotTo(HaveOccurred())
		Expect(storage.CSIDriver).To(Equal("csi.vsphere.vmware.com"))
		Expect(storage.Shoot).To(Equal(ShootValues{Sites: []string{"east", "west"}}))
		Expect(storage.Classes).To(Equal([]platform.StorageClass{
			{Name: "east-gold", Site: "east", SiteDefault: true, Provisioner: "csi.vsphere.vmware.com", AllowVolumeExpansion: true,
				Parameters: map[string]string{"storagepolicyname": "Gold of east"}, ReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				AllowedTopologies: in("east-1", "east-2")},
			{Name: "west-gold", Site: "west", SiteDefault: true, Provisioner: "csi.vsphere.vmware.com", AllowVolumeExpansion: true,
				Parameters: map[string]string{"storagepolicyname": "Gold of west"}, ReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
				AllowedTopologies: in("west-1")},
		}))
		Expect(storage.SnapshotClasses).To(Equal([]platform.SnapshotClass{{Name: "vsphere", Site: "east", Driver: "csi.vsphere.vmware.com"}}))
	})

	It("should take the name of a zone without a tag, and a tag of two zones of a site once", func() {
		storage, err := New().Storage([]platform.ControlPlaneSite{vsphere(newSite("east", "https://vc", "a", "b", "c"),
			func(p *v1alpha1.CloudProfileSite) {
				p.Zones[0].VSphere.TopologyTag, p.Zones[1].VSphere.TopologyTag, p.Zones[2].VSphere.TopologyTag = "cluster", "cluster", ""
			})})
		Expect(err).NotTo(HaveOccurred())
		Expect(storage.Classes[0].AllowedTopologies).To(Equal(in("cluster", "c")))
	})

	It("should be nothing without topology", func() {
		Expect(New().Storage([]platform.ControlPlaneSite{vsphere(east(), func(p *v1alpha1.CloudProfileSite) {
			p.VSphere.Topology, p.StorageClasses = nil, nil
		})})).To(BeNil())
	})

	It("should bring the driver to nodes without a class of the CloudProfile", func() {
		storage, err := New().Storage([]platform.ControlPlaneSite{vsphere(east(), func(p *v1alpha1.CloudProfileSite) { p.StorageClasses = nil })})
		Expect(err).NotTo(HaveOccurred())
		Expect(storage.CSIDriver).NotTo(BeEmpty())
		Expect(storage.Classes).To(BeEmpty())
	})

	profile := func(change func(*v1alpha1.CloudProfileSite)) func(*platform.ControlPlaneSite) {
		return func(s *platform.ControlPlaneSite) { change(s.Site.Profile) }
	}
	credentials := func(username, password string) func(*platform.ControlPlaneSite) {
		return func(s *platform.ControlPlaneSite) {
			s.Site.Credentials = site.Credentials{"username": username, "password": password}
		}
	}

	DescribeTable("should refuse what the driver cannot do", func(change func(*platform.ControlPlaneSite), message string) {
		_, err := New().Storage([]platform.ControlPlaneSite{east(), with(west(), change)})
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(err).To(MatchError(ContainSubstring(`site "west": `)))
		Expect(err).NotTo(MatchError(ContainSubstring("s3cr3t")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	},
		Entry("no site in the CloudProfile", func(s *platform.ControlPlaneSite) { s.Site.Profile = nil },
			"the CloudProfile no longer has a vSphere site"),
		Entry("classes without topology", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Topology = nil }),
			"vsphere.topology: Required value: must be set for storageClasses"),
		Entry("topology at one of two sites", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Topology, p.StorageClasses = nil, nil }),
			`must have vsphere.topology in the CloudProfile if and only if site "east" has it`),
		Entry("other categories", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Topology.ZoneCategory = "zone" }),
			`must have the same vsphere.topology in the CloudProfile as site "east", categories "k8s-region" and "k8s-zone"`),
		Entry("a category that is no label", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Topology.RegionCategory = "k8s region" }),
			"vsphere.topology.regionCategory"),
		Entry("a category that looks like two", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Topology.ZoneCategory = "a,b" }),
			"vsphere.topology.zoneCategory"),
		Entry("a tag that is no label", profile(func(p *v1alpha1.CloudProfileSite) { p.Zones[0].VSphere.TopologyTag = "west 1" }),
			`zones[0].vsphere.topologyTag: Invalid value: "west 1": must be usable as the value of a node label`),
		Entry("a tag of another site", profile(func(p *v1alpha1.CloudProfileSite) { p.Zones[0].VSphere.TopologyTag = "east-1" }),
			`must not be used together with site "east": both have topologyTag "east-1"`),
		Entry("a tag like that of the region", profile(func(p *v1alpha1.CloudProfileSite) { p.Zones[0].VSphere.TopologyTag = "europe" }),
			"must differ from the tag of the region"),
		Entry("a class of another platform", profile(func(p *v1alpha1.CloudProfileSite) { p.StorageClasses[0].VSphere = nil }),
			`storage class "west-gold" has no vsphere block`),
		Entry("no address", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Server = "vcenter" }), "must be a URL with a host"),
		Entry("a datacenter with a comma", profile(func(p *v1alpha1.CloudProfileSite) { p.VSphere.Datacenter = "a,b" }),
			`vsphere.datacenter: Invalid value: "a,b": must not contain commas`),
		Entry("no password", credentials("u@d", ""), `credentials: key "password" is missing`),
		Entry("a user without a domain", credentials("s3cr3t", "s3cr3t"), "credentials: username must be <user>@<domain>"),
		Entry("a carriage return", credentials("u@d", "s3cr3t\r\n"), `credentials: key "password" must be text`),
		Entry("no text", credentials("u@d", "s3cr3t\xff"), `credentials: key "password" must be text`),
		Entry("one thumbprint of two", profile(func(p *v1alpha1.CloudProfileSite) { p.TLS = &v1alpha1.TLS{Thumbprint: "AA:BB"} }),
			"must have tls.caCert instead of tls.thumbprint"),
		Entry("one authority of two", profile(func(p *v1alpha1.CloudProfileSite) { p.TLS = nil }),
			`must have tls.caCert in the CloudProfile because site "east" has`),
		Entry("one vCenter, two users", func(s *platform.ControlPlaneSite) {
			s.Site.Profile.VSphere.Server, s.Site.Profile.TLS = east().Site.Profile.VSphere.Server, east().Site.Profile.TLS
		}, `credentials: username must be that of site "east"`),
		Entry("one vCenter, two ports", func(s *platform.ControlPlaneSite) {
			s.Site.Profile.VSphere.Server, s.Site.Credentials = "https://vc-east.example.com:8443", east().Site.Credentials
		}, `must have the same port of vsphere.server in the CloudProfile as site "east"`),
		Entry("one vCenter, two ways to trust it", func(s *platform.ControlPlaneSite) {
			s.Site.Profile.VSphere.Server, s.Site.Credentials = east().Site.Profile.VSphere.Server, east().Site.Credentials
		}, `must have the same tls in the CloudProfile as site "east"`),
		Entry("one vCenter, with and without a proxy", func(s *platform.ControlPlaneSite) {
			s.Site.Profile.VSphere.Server, s.Site.Profile.TLS, s.Site.Credentials = east().Site.Profile.VSphere.Server, east().Site.Profile.TLS,
				east().Site.Credentials
			s.Site.Profile.Proxy = &v1alpha1.Proxy{URL: "http://proxy:3128"}
		}, `must have the same proxy in the CloudProfile as site "east"`),
	)

	It("should refuse two proxies", func() {
		behind := func(s platform.ControlPlaneSite, proxy string) platform.ControlPlaneSite {
			return vsphere(s, func(p *v1alpha1.CloudProfileSite) { p.Proxy = &v1alpha1.Proxy{URL: proxy} })
		}
		_, err := New().Storage([]platform.ControlPlaneSite{behind(east(), "http://a:1"), behind(west(), "http://b:1")})
		Expect(err).To(MatchError(`site "west": must have the same proxy in the CloudProfile as site "east", or none: the CSI driver has one ` +
			`for all vCenters`))
	})

	It("should refuse six vCenters", func() {
		var sites []platform.ControlPlaneSite
		for i := range 6 {
			name := fmt.Sprintf("s%d", i)
			sites = append(sites, newSite(name, "https://"+name, name+"-1"))
		}
		Expect(New().Storage(sites[:5])).NotTo(BeNil())
		_, err := New().Storage(sites)
		Expect(err).To(MatchError(ContainSubstring(`site "s5": must not be used: the CSI driver supports at most 5 vCenters`)))
	})

	It("should refuse a technical ID that is too long", func() {
		s := east()
		s.Site.Shoot = strings.Repeat("x", 65)
		_, err := New().Storage([]platform.ControlPlaneSite{s})
		Expect(err).To(MatchError(ContainSubstring("at most 64 characters")))
	})

	It("should name the mistakes of all sites", func() {
		bad := func(s platform.ControlPlaneSite) platform.ControlPlaneSite {
			return vsphere(s, func(p *v1alpha1.CloudProfileSite) { p.Zones[0].VSphere.TopologyTag = "!" })
		}
		_, err := New().Storage([]platform.ControlPlaneSite{bad(east()), bad(west())})
		Expect(err).To(MatchError(And(ContainSubstring(`site "east"`), ContainSubstring(`site "west"`))))
	})
})
