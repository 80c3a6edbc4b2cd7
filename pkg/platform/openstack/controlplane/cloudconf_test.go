// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Configuration of the driver", func() {
	render := func(sites ...platform.ControlPlaneSite) string {
		GinkgoHelper()
		storage, err := New().Storage(sites)
		Expect(err).NotTo(HaveOccurred())
		Expect(storage.Files).To(HaveLen(1))
		path := filepath.Join(GinkgoT().TempDir(), "cloud.conf")
		Expect(os.WriteFile(path, []byte(storage.Files["cloud.conf"]), 0o600)).To(Succeed())
		return path
	}
	const certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

	It("should be what the driver reads", func() {
		first, second := newSite("cloud"), newSite("burst")
		first.Status.OpenStack.ProjectID = "6a0f1f5e0c5a4d598a0b6f5d6b1d3e21"
		first.Site.Profile.TLS = &v1alpha1.TLS{CACert: certificate}
		first.Site.Profile.OpenStack.EndpointType = "internal"
		second.Site.Profile.TLS = &v1alpha1.TLS{Thumbprint: strings.TrimSuffix(strings.Repeat("aB:", 20), ":")}
		second.Site.Profile.Proxy = &v1alpha1.Proxy{URL: "http://proxy:3128", NoProxy: []string{"10.0.0.0/8", ".example.com"}}
		second.Site.Profile.RequestTimeout = &metav1.Duration{Duration: 90 * time.Second}
		second.Site.Credentials = site.Credentials{"applicationCredentialID": "id", "applicationCredentialSecret": "s"}

		config, err := drivers.ReadConfig([]string{render(first, second)})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.BlockStorage).To(Equal(library.BlockStorageOpts{IgnoreVolumeAZ: true}))
		Expect(config.Sites).To(Equal(map[string]drivers.SiteConfig{
			"cloud": {Connection: client.ConnectionOf(first.Site.Profile), ProjectID: "6a0f1f5e0c5a4d598a0b6f5d6b1d3e21",
				Credentials: first.Site.Credentials},
			"burst": {Connection: client.ConnectionOf(second.Site.Profile), Credentials: second.Site.Credentials},
		}))
	})

	It("should be what the driver of cloud-provider-openstack reads", func() {
		first, second := newSite("cloud"), newSite("burst")
		first.Site.Profile.TLS = &v1alpha1.TLS{CACert: strings.ReplaceAll(certificate, "\n", "\r\n")}
		second.Site.Profile.TLS = &v1alpha1.TLS{InsecureSkipVerify: true}
		second.Site.Credentials = site.Credentials{"applicationCredentialID": "id", "applicationCredentialSecret": "s", "username": "ignored"}

		config, err := library.GetConfigFromFiles([]string{render(first, second)})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.BlockStorage.IgnoreVolumeAZ).To(BeTrue())
		Expect(config.Global).To(HaveLen(2))
		Expect(*config.Global["cloud"]).To(And(
			HaveField("AuthURL", "https://cloud.example.com/v3"), HaveField("Region", "RegionOne"), HaveField("CAFileContents", certificate),
			HaveField("DomainName", "Default"), HaveField("TenantName", "project"), HaveField("Username", "user"), HaveField("Password", "secret"),
			HaveField("TLSInsecure", ""),
		))
		Expect(*config.Global["burst"]).To(And(
			HaveField("ApplicationCredentialID", "id"), HaveField("ApplicationCredentialSecret", "s"), HaveField("Username",
				""), HaveField("TLSInsecure", "true"),
		))
	})

	DescribeTable("should hold values as they are",
		func(value string) {
			s := newSite("cloud")
			s.Site.Credentials["password"] = value
			path := render(s)
			theirs, err := library.GetConfigFromFiles([]string{path})
			Expect(err).NotTo(HaveOccurred())
			Expect(theirs.Global["cloud"].Password).To(Equal(value))
			ours, err := drivers.ReadConfig([]string{path})
			Expect(err).NotTo(HaveOccurred())
			Expect(ours.Sites["cloud"].Credentials).To(HaveKeyWithValue("password", value))
		},
		Entry("quotes", `a"b"`),
		Entry("quote at the end", `a"`),
		Entry("backslashes", `a\b\\c`),
		Entry("backslash at the end", `a\`),
		Entry("backslash before a quote", `a\"b`),
		Entry("what looks like an escape", `a\n\t`),
		Entry("what looks like a section", `[Global "cloud"]`),
		Entry("blanks", "  a "),
		Entry("comments", "a;b#c"),
		Entry("percent and dollar", "%s${HOME}"),
		Entry("other languages", "pässwörd-密码-🔑"),
	)

	deploy := func(sites ...platform.ControlPlaneSite) map[string]string {
		GinkgoHelper()
		storage, err := New().Storage(sites)
		Expect(err).NotTo(HaveOccurred())
		return storage.Files
	}

	DescribeTable("should keep the section of a site whose credentials cannot be used, and change the others",
		func(change func(site.Credentials), message string) {
			deployed := deploy(newSite("a"), newSite("cloud"), newSite("z"))
			first, bad, last := newSite("a"), newSite("cloud"), newSite("z")
			change(bad.Site.Credentials)
			first.Site.Credentials["password"], last.Site.Credentials["password"] = "new-a", "new-z"
			sites := []platform.ControlPlaneSite{first, bad, last}
			for i := range sites {
				sites[i].Deployed = deployed
			}
			storage, err := New().Storage(sites)
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": credentials: `), ContainSubstring(message), Not(ContainSubstring("hidden")),
				Not(ContainSubstring("\n")))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			var ofCredentials *platform.CredentialsError
			Expect(errors.As(err, &ofCredentials)).To(BeTrue())

			first.Site.Credentials, last.Site.Credentials = newSite("a").Site.Credentials, newSite("z").Site.Credentials
			first.Site.Credentials["password"], last.Site.Credentials["password"] = "new-a", "new-z"
			Expect(storage.Files).To(Equal(deploy(first, newSite("cloud"), last)))
			Expect(storage.Shoot).To(HaveField("Sites", HaveLen(3)))
			Expect(storage.Classes).To(HaveLen(6))

			By("keeping it again")
			for i := range sites {
				sites[i].Deployed = storage.Files
			}
			again, err := New().Storage(sites)
			Expect(err).To(HaveOccurred())
			Expect(again.Files).To(Equal(storage.Files))
		},
		Entry("no credentials", func(c site.Credentials) { clear(c) }, `key "domainName" is missing`),
		Entry("no password", func(c site.Credentials) { delete(c, "password") }, `key "password" is missing`),
		Entry("an empty password", func(c site.Credentials) { c["password"] = "" }, `key "password" is missing`),
		Entry("an ID without its secret", func(c site.Credentials) { clear(c); c["applicationCredentialID"] = "id" },
			`key "applicationCredentialSecret" is missing`),
		Entry("line breaks", func(c site.Credentials) { c["password"] = "hidden\n[Global \"a\"]\nusername = root" },
			`key "password" must be text`),
		Entry("carriage return", func(c site.Credentials) { c["password"] = "hidden\r" }, `key "password" must be text`),
		Entry("zero", func(c site.Credentials) { c["password"] = "hidden\x00" }, `key "password" must be text`),
		Entry("no text", func(c site.Credentials) { c["password"] = "hidden\xff" }, `key "password" must be text`),
		Entry("byte order mark", func(c site.Credentials) { c["password"] = "hidden\ufeff" }, `key "password" holds a character`),
	)

	It("should leave credentials out that cannot be used if none are deployed, and not the site", func() {
		s := newSite("cloud")
		s.Site.Credentials["password"] = "hidden\n"
		storage, err := New().Storage([]platform.ControlPlaneSite{s, newSite("burst")})
		Expect(err).To(MatchError(And(HavePrefix(`site "cloud": credentials: key "password" `),
			HaveSuffix("; it has no volumes until they can be used"))))
		path := filepath.Join(GinkgoT().TempDir(), "cloud.conf")
		Expect(os.WriteFile(path, []byte(storage.Files["cloud.conf"]), 0o600)).To(Succeed())
		config, err := drivers.ReadConfig([]string{path})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites["cloud"].Connection.AuthURL).To(Equal("https://cloud.example.com/v3"),
			"volumes of an unknown site would look as if they were gone")
		Expect(config.Sites["cloud"].Credentials).To(BeEmpty())
		Expect(config.Sites["burst"].Credentials).To(HaveKey("password"))
	})

	It("should tell a mistake in the CloudProfile from one in the credentials", func() {
		s := newSite("cloud")
		s.Site.Profile.TLS = &v1alpha1.TLS{CACert: "a\x00"}
		storage, err := New().Storage([]platform.ControlPlaneSite{newSite("burst"), s})
		Expect(err).To(MatchError(HavePrefix(`site "cloud": cafilecontents: `)))
		var ofCredentials *platform.CredentialsError
		Expect(errors.As(err, &ofCredentials)).To(BeFalse())
		Expect(storage).To(BeNil())
	})
})
