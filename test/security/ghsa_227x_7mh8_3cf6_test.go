// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gcfg "gopkg.in/gcfg.v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Text of a tenant ends what it stands in and goes on as a part of the configuration of a program in the seed. What a tenant can write into
// one are the credentials of its sites.
var _ = Describe("GHSA-227x-7mh8-3cf6", func() {
	payloads := []TableEntry{
		Entry("a line", "x\nauth-url = https://evil.test\n"),
		Entry("a section", "x\"\n[Global \"other\"]\nauth-url = \"https://evil.test\"\n"),
		Entry("the end of a text", "x\" \nauth-url = \"https://evil.test"),
		Entry("an escaped end of a text", "x\\\"\nauth-url = https://evil.test\n#"),
		Entry("a continued line", "x\\\n"),
		Entry("a comment", "x # y ; z"),
		Entry("another end of a line", "x\rauth-url = https://evil.test\r"),
		Entry("nothing in between", "x\x00\nauth-url = https://evil.test"),
		Entry("a mark of byte order", "\ufeff[Global]\nauth-url = https://evil.test"),
		Entry("what is no text", "x\xff\nauth-url = https://evil.test"),
		Entry("a template", "{{ .Values }}${HOME}$(id)%s"),
		Entry("a separator of lines", "x\u2028auth-url = https://evil.test\u0085"),
	}
	storage := func(platformType v1alpha1.Platform, s *site.Site) (*platform.Storage, error) {
		part, err := extension.ControlPlanes().For(platformType)
		Expect(err).NotTo(HaveOccurred())
		return part.Storage([]platform.ControlPlaneSite{{
			Site: s,
			Status: &v1alpha1.SiteStatus{
				Name: s.Name, OpenStack: &v1alpha1.OpenStackStatus{ProjectID: "p"},
				VSphere: &v1alpha1.VSphereStatus{OwnerTagID: "urn:tag", Zones: []v1alpha1.VSphereZoneStatus{{Name: "z", Datacenter: "datacenter-2"}}},
			},
		}})
	}

	DescribeTable("should be a value for the driver for Cinder, or nothing",
		func(payload string) {
			for _, keys := range [][]string{{"domainName", "tenantName", "username", "password"},
				{"applicationCredentialID", "applicationCredentialSecret"}} {
				credentials := site.Credentials{}
				for _, key := range keys {
					credentials[key] = payload
				}
				profile := &v1alpha1.CloudProfileSite{Name: "cloud",
					OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "https://keystone.test/v3", Region: "R"}}
				rendered, err := storage(v1alpha1.PlatformOpenStack,
					&site.Site{Name: "cloud", Platform: v1alpha1.PlatformOpenStack, Shoot: namespace, Profile: profile, Credentials: credentials})
				if err != nil {
					Expect(err).NotTo(MatchError(ContainSubstring("evil")))
					continue
				}
				path := filepath.Join(GinkgoT().TempDir(), "cloud.conf")
				Expect(os.WriteFile(path, []byte(rendered.Files["cloud.conf"]), 0o600)).To(Succeed())
				config, err := drivers.ReadConfig([]string{path})
				Expect(err).NotTo(HaveOccurred())
				Expect(config.Sites).To(HaveLen(1))
				Expect(config.Sites["cloud"].Connection.AuthURL).To(Equal("https://keystone.test/v3"))
				Expect(config.Sites["cloud"].Credentials).To(Equal(credentials))
			}
		}, payloads)

	DescribeTable("should be a value for the driver for vSphere, or nothing",
		func(payload string) {
			for _, credentials := range []site.Credentials{{"username": "a@vsphere.local", "password": payload},
				{"username": payload, "password": "p"}} {
				profile := &v1alpha1.CloudProfileSite{
					Name: "vc", VSphere: &v1alpha1.VSphereProfile{Server: "https://vc.test", Datacenter: "dc",
						Topology: &v1alpha1.VSphereTopology{RegionCategory: "r", ZoneCategory: "z"}},
					Zones: []v1alpha1.SiteZone{{Name: "z", VSphere: &v1alpha1.VSphereZone{TopologyTag: "z"}}},
				}
				rendered, err := storage(v1alpha1.PlatformVSphere,
					&site.Site{Name: "vc", Platform: v1alpha1.PlatformVSphere, Shoot: namespace, Profile: profile, Credentials: credentials})
				if err != nil {
					Expect(err).NotTo(MatchError(ContainSubstring("evil")))
					continue
				}
				var config struct {
					Global        struct{ Values map[string]string }
					VirtualCenter map[string]*struct{ User, Password string }
				}
				Expect(gcfg.FatalOnly(gcfg.ReadStringInto(&config, rendered.Files["csi-vsphere.conf"]))).To(Succeed())
				Expect(config.VirtualCenter).To(HaveLen(1))
				Expect(config.VirtualCenter["vc.test"].User).To(Equal(credentials["username"]))
				Expect(config.VirtualCenter["vc.test"].Password).To(Equal(credentials["password"]))
			}
		}, payloads)
})
