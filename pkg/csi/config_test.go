// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// full has every key, with a password that has all that must be escaped.
const full = `
[Global "cloud"]
auth-url="https://keystone.example.com/v3"
region="RegionOne"
os-endpoint-type="internal"
domain-name="d"
tenant-name="t"
username="u"
password="p\"\\#;=\n"
cafilecontents="-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"
proxy-url="http://proxy:3128"
no-proxy="10.0.0.0/8"
no-proxy="example.com"
request-timeout="20s"
[Global "another"]
auth-url="https://keystone.example.com/v3"
region="RegionTwo"
application-credential-id="id"
application-credential-secret="s"
tls-insecure=true
tls-thumbprint="aa:bb"
[BlockStorage]
ignore-volume-az=true
node-volume-attach-limit=20
rescan-on-resize=true
[Metadata]
search-order="configDrive"
`

var _ = Describe("ReadConfig", func() {
	write := func(content string) string {
		GinkgoHelper()
		path := filepath.Join(GinkgoT().TempDir(), "cloud.conf")
		Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}

	It("reads all sites and settings", func() {
		config, err := ReadConfig([]string{write(full)})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites).To(HaveLen(2))
		cloud, another := config.Sites["cloud"], config.Sites["another"]
		Expect(cloud.Err).NotTo(HaveOccurred())
		Expect(cloud.Connection).To(And(
			HaveField("AuthURL", "https://keystone.example.com/v3"), HaveField("Region", "RegionOne"), HaveField("EndpointType", "internal"),
			HaveField("TLS", &v1alpha1.TLS{CACert: "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"}),
			HaveField("Proxy", &v1alpha1.Proxy{URL: "http://proxy:3128", NoProxy: []string{"10.0.0.0/8", "example.com"}}),
			HaveField("RequestTimeout.Duration", 20*time.Second)))
		Expect(cloud.Credentials).To(Equal(site.Credentials{"domainName": "d", "tenantName": "t", "username": "u", "password": "p\"\\#;=\n"}))
		Expect(another.Err).NotTo(HaveOccurred())
		Expect(another.Credentials).To(Equal(site.Credentials{"applicationCredentialID": "id", "applicationCredentialSecret": "s"}))
		Expect(another.Connection.TLS).To(Equal(&v1alpha1.TLS{InsecureSkipVerify: true, Thumbprint: "aa:bb"}))
		Expect(config.BlockStorage).To(Equal(library.BlockStorageOpts{IgnoreVolumeAZ: true, NodeVolumeAttachLimit: 20, RescanOnResize: true}))
		Expect(config.Metadata.SearchOrder).To(Equal("configDrive"))
	})

	It("says the same as the driver of cloud-provider-openstack", func() {
		path := write(full)
		theirs, err := library.GetConfigFromFiles([]string{path})
		Expect(err).NotTo(HaveOccurred())
		ours, err := ReadConfig([]string{path})
		Expect(err).NotTo(HaveOccurred())
		Expect(theirs.Global).To(HaveLen(len(ours.Sites)))
		cloud := theirs.Global["cloud"]
		Expect(cloud.Password).To(Equal(ours.Sites["cloud"].Credentials["password"]))
		Expect(cloud.CAFileContents).To(Equal(ours.Sites["cloud"].Connection.TLS.CACert))
		Expect(theirs.BlockStorage).To(Equal(ours.BlockStorage))
	})

	It("reads files one after the other", func() {
		certificate := write("-----BEGIN")
		config, err := ReadConfig([]string{
			write("[Global \"cloud\"]\nauth-url=http://a\n[BlockStorage]\nnode-volume-attach-limit=20\n"),
			write("[Global \"cloud\"]\nauth-url=http://b\nca-file=" + certificate + "\n"),
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites["cloud"].Connection).To(And(HaveField("AuthURL", "http://b"), HaveField("TLS.CACert", "-----BEGIN")))
		Expect(config.BlockStorage.NodeVolumeAttachLimit).To(BeEquivalentTo(20))
	})

	It("has no sites without files", func() {
		config, err := ReadConfig(nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites).To(BeEmpty())
	})

	DescribeTable("blames the site alone whose section is wrong",
		func(line, message string) {
			config, err := ReadConfig([]string{write("[Global \"good\"]\nauth-url=http://a\n[Global \"bad\"]\n" + line + "\n")})
			Expect(err).NotTo(HaveOccurred())
			Expect(config.Sites["good"].Err).NotTo(HaveOccurred())
			Expect(config.Sites["bad"].Err).To(MatchError(And(ContainSubstring(`site "bad"`), ContainSubstring(message))))
			Expect(platform.ClassOf(config.Sites["bad"].Err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("no address", "region=r", "auth-url is required"),
		Entry("a timeout that is none", "auth-url=http://a\nrequest-timeout=soon", "request-timeout"),
		Entry("a file that is not there", "auth-url=http://a\nca-file=/nowhere", "ca-file"),
	)

	DescribeTable("fails without a word of the file",
		func(content string) {
			_, err := ReadConfig([]string{write(content)})
			Expect(err).To(HaveOccurred())
			Expect(err).NotTo(MatchError(ContainSubstring("s3cret")))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("a quote is open", "[Global \"cloud\"]\npassword=\"s3cret\n"),
		Entry("an escape that is none", "[Global \"cloud\"]\npassword=\"s3cret\\q\"\n"),
		Entry("no section", "password=s3cret\n"),
		Entry("a section that does not end", "[Global \"s3cret\n"),
		Entry("no number", "[BlockStorage]\nnode-volume-attach-limit=many\n"),
		Entry("a file of another kind", "\x00\x01s3cret"),
	)

	It("fails if there is no file", func() {
		_, err := ReadConfig([]string{"/nowhere/cloud.conf"})
		Expect(err).To(MatchError(ContainSubstring("/nowhere/cloud.conf")))
	})
})
