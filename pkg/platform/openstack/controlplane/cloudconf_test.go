// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi/cinder"
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

		config, err := cinder.ReadConfig([]string{render(first, second)})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.BlockStorage).To(Equal(library.BlockStorageOpts{IgnoreVolumeAZ: true}))
		Expect(config.Sites).To(Equal(map[string]cinder.SiteConfig{
			"cloud": {Connection: client.ConnectionOf(first.Site.Profile), ProjectID: "6a0f1f5e0c5a4d598a0b6f5d6b1d3e21", Credentials: first.Site.Credentials},
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
			HaveField("ApplicationCredentialID", "id"), HaveField("ApplicationCredentialSecret", "s"), HaveField("Username", ""), HaveField("TLSInsecure", "true"),
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
			ours, err := cinder.ReadConfig([]string{path})
			Expect(err).NotTo(HaveOccurred())
			Expect(ours.Sites["cloud"].Credentials).To(HaveKeyWithValue("password", value))
		},
		Entry("quotes", `a"b"`),
		Entry("quote at the end", `a"`),
		Entry("backslashes", `a\b\\c`),
		Entry("backslash at the end", `a\`),
		Entry("backslash before a quote", `a\"b`),
		Entry("what looks like an escape", `a\n\t`),
		Entry("line breaks", "a\nb\n[Global \"cloud\"]\nusername = root"),
		Entry("tabs and blanks", " \ta \t"),
		Entry("comments", "a;b#c"),
		Entry("percent and dollar", "%s${HOME}"),
		Entry("other languages", "pässwörd-密码-🔑"),
		Entry("control characters", "a\x01\x0b\x7fb"),
	)

	DescribeTable("should refuse what it cannot hold, without showing it",
		func(value string) {
			s := newSite("cloud")
			s.Site.Credentials["password"] = value
			storage, err := New().Storage([]platform.ControlPlaneSite{newSite("burst"), s})
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": password: `), Not(ContainSubstring("hidden")))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(storage).To(BeNil())
		},
		Entry("carriage return", "hidden\r"),
		Entry("zero", "hidden\x00"),
		Entry("no text", "hidden\xff"),
		Entry("byte order mark", "hidden\ufeff"),
	)

	It("should leave it to the driver to say which site has no credentials", func() {
		s := newSite("cloud")
		delete(s.Site.Credentials, "password")
		config, err := cinder.ReadConfig([]string{render(s, newSite("burst"))})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites["cloud"].Credentials).NotTo(HaveKey("password"))
		Expect(config.Sites["burst"].Credentials).To(HaveKey("password"))
	})
})
