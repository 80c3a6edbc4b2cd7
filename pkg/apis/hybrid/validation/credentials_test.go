// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"cmp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("#ValidateCredentials", func() {
	sites := []SiteCredentials{
		{Site: "cloud", Platform: v1alpha1.PlatformOpenStack},
		{Site: "vc", Platform: v1alpha1.PlatformVSphere},
		{Site: "racks", Platform: v1alpha1.PlatformMetal},
	}
	newData := func() map[string]string {
		return map[string]string{
			"cloud.domainName": "Default", "cloud.tenantName": "project", "cloud.username": "user", "cloud.password": "s3cr3t",
			"vc.username": "user", "vc.password": "s3cr3t",
			"racks.token": "s3cr3t",
		}
	}
	toBytes := func(data map[string]string) map[string][]byte {
		result := map[string][]byte{}
		for key, value := range data {
			result[key] = []byte(value)
		}
		return result
	}
	with := func(pairs ...string) func(map[string]string) {
		return func(data map[string]string) {
			for i := 0; i < len(pairs); i += 2 {
				data[pairs[i]] = pairs[i+1]
			}
		}
	}
	without := func(keys ...string) func(map[string]string) {
		return func(data map[string]string) {
			for _, key := range keys {
				delete(data, key)
			}
		}
	}
	all := func(changes ...func(map[string]string)) func(map[string]string) {
		return func(data map[string]string) {
			for _, change := range changes {
				change(data)
			}
		}
	}
	withoutPassword := without("cloud.domainName", "cloud.tenantName", "cloud.username", "cloud.password")

	validate := func(change func(map[string]string), problems ...problem) {
		data := newData()
		change(data)
		errs := ValidateCredentials(toBytes(data), sites, field.NewPath("data"))
		Expect(errs).To(haveProblems(problems))
		if len(errs) > 0 {
			Expect(errs.ToAggregate().Error()).NotTo(ContainSubstring("s3cr3t"))
		}
	}

	It("accepts nil", func() {
		Expect(ValidateCredentials(nil, nil, nil)).To(BeEmpty())
		Expect(ValidateCredentials(nil, []SiteCredentials{{Site: "a"}}, nil)).To(BeEmpty())
	})

	DescribeTable("keys", validate,
		Entry("valid", with()),
		Entry("no prefix", with("username", "s3cr3t"), problem{invalid, "data[username]"}),
		Entry("prefix that is no site name", with("Cloud.username", "s3cr3t"), problem{invalid, "data[Cloud.username]"}),
		Entry("prefix that is too long", with("abcdefghijklmnopqrstu.username", "s3cr3t"),
			problem{invalid, "data[abcdefghijklmnopqrstu.username]"}),
		Entry("reserved prefix", with("token.username", "s3cr3t"), problem{invalid, "data[token.username]"}),
		Entry("no key", with("cloud.", "s3cr3t"), problem{required, "data[cloud.]"}),
		Entry("unknown key", with("cloud.user", "s3cr3t"), problem{notSupported, "data[cloud.user]"}),
		Entry("another platform's key", with("cloud.token", "s3cr3t"), problem{notSupported, "data[cloud.token]"}),
		Entry("site that is not used", with("other.token", "s3cr3t", "other.tenantName", "a")),
		Entry("unknown key of a site that is not used", with("other.user", "s3cr3t"), problem{notSupported, "data[other.user]"}),
		Entry("an address", with("vc.server", "s3cr3t"), problem{forbidden, "data[vc.server]"}),
		Entry("an address in a document", with("other.kubeconfig", "s3cr3t"), problem{forbidden, "data[other.kubeconfig]"}),
		Entry("DNS", with("dns.server", "192.0.2.1", "dns.tsigSecret", "s3cr3t")),
		Entry("unknown key of DNS", with("dns.key", "s3cr3t"), problem{notSupported, "data[dns.key]"}),
	)

	DescribeTable("values", validate,
		Entry("empty", with("cloud.password", ""), problem{required, "data[cloud.password]"}),
		Entry("line break", with("cloud.password", "s3cr3t\n"), problem{invalid, "data[cloud.password]"}),
		Entry("line break inside", with("cloud.password", "s3cr3t\nauth-url=https://example.com"), problem{invalid, "data[cloud.password]"}),
		Entry("document instead of a password", with("cloud.password", "-----BEGIN s3cr3t\n"), problem{invalid, "data[cloud.password]"}),
		Entry("space", with("cloud.username", " user"), problem{invalid, "data[cloud.username]"}),
		Entry("no UTF-8", with("cloud.password", "s3cr3t\xff"), problem{invalid, "data[cloud.password]"}),
	)

	DescribeTable("sets of keys", validate,
		Entry("one missing", without("cloud.tenantName"), problem{required, "data[cloud.tenantName]"}),
		Entry("several missing", without("cloud.tenantName", "cloud.password"), problem{required, "data[cloud.tenantName]"},
			problem{required, "data[cloud.password]"}),
		Entry("all missing", withoutPassword, problem{required, "data[cloud.domainName]"}),
		Entry("application credential",
			all(withoutPassword, with("cloud.applicationCredentialID", "a", "cloud.applicationCredentialSecret", "s3cr3t"))),
		Entry("half an application credential", all(withoutPassword, with("cloud.applicationCredentialID", "a")),
			problem{required, "data[cloud.applicationCredentialSecret]"}),
		Entry("password and application credential", with("cloud.applicationCredentialID", "a", "cloud.applicationCredentialSecret", "s3cr3t"),
			problem{forbidden, "data[cloud.applicationCredentialID]"}),
		Entry("vSphere without password", without("vc.password"), problem{required, "data[vc.password]"}),
		Entry("vSphere with a token for address pools", with("vc.token", "s3cr3t")),
		Entry("vSphere with half a certificate for address pools", with("vc.clientKey", "s3cr3t"),
			problem{required, "data[vc.clientCertificate]"}),
		Entry("vSphere with a token and a certificate", with("vc.token", "s3cr3t", "vc.clientKey", "s3cr3t"),
			problem{forbidden, "data[vc.clientCertificate]"}),
		Entry("metal without token", without("racks.token"), problem{required, "data[racks.token]"}),
		Entry("metal with half a certificate", all(without("racks.token"), with("racks.clientKey", "s3cr3t")),
			problem{required, "data[racks.clientCertificate]"}),
	)

	It("should need a token at a vSphere site whose machines have addresses from a pool", func() {
		used := &v1alpha1.InfrastructureSite{Name: "vc", VSphere: &v1alpha1.VSphereInfrastructure{IPAM: &v1alpha1.IPAM{}}}
		needed := []SiteCredentials{CredentialsOf(used, v1alpha1.PlatformVSphere)}
		Expect(ValidateCredentials(toBytes(newData()), needed, field.NewPath("data"))).To(haveProblems([]problem{{required, "data[vc.token]"}}))
		data := newData()
		data["vc.token"] = "s3cr3t"
		Expect(ValidateCredentials(toBytes(data), needed, field.NewPath("data"))).To(BeEmpty())
	})

	DescribeTable("of a Secret whose sites are not known",
		func(change func(map[string]string), problems ...problem) {
			data := newData()
			change(data)
			errs := ValidateSecret(toBytes(data), field.NewPath("data"))
			Expect(errs).To(haveProblems(problems))
			if len(errs) > 0 {
				Expect(errs.ToAggregate().Error()).NotTo(ContainSubstring("s3cr3t"))
			}
		},
		Entry("all sites", with()),
		Entry("what is missing is told elsewhere", without("cloud.tenantName", "vc.password")),
		Entry("no prefix", with("kubeconfig", "s3cr3t"), problem{invalid, "data[kubeconfig]"}),
		Entry("an address", with("cloud.authURL", "https://s3cr3t.example.com"), problem{forbidden, "data[cloud.authURL]"}),
		Entry("whom to trust", with("vc.caCert", "s3cr3t"), problem{forbidden, "data[vc.caCert]"}),
		Entry("no certificate", with("hall.clientCertificate", "s3cr3t", "hall.clientKey", "s3cr3t"),
			problem{invalid, "data[hall.clientCertificate]"}),
		Entry("dynamic updates of DNS", with("dns.server", "ns.example.com", "dns.tsigKeyName", "key", "dns.tsigSecret", "c2VjcmV0")),
		Entry("half of a TSIG key", with("dns.server", "ns.example.com", "dns.tsigKeyName", "key"), problem{required, "data[dns.tsigSecret]"}),
		Entry("a URL as DNS server", with("dns.server", "https://s3cr3t", "dns.tsigKeyName", "key", "dns.tsigSecret", "c2VjcmV0"),
			problem{invalid, "data[dns.server]"}),
		Entry("the DNS of a site", with("dns.site", "cloud")),
		Entry("the DNS of a site without credentials", with("dns.site", "other"), problem{required, "data[other.domainName]"}),
		Entry("the DNS of a site and an address", with("dns.site", "cloud", "dns.authURL", "https://s3cr3t.example.com"),
			problem{forbidden, "data[dns.authURL]"}),
		Entry("Designate",
			with("dns.authURL", "https://keystone.example.com/v3", "dns.applicationCredentialID", "a", "dns.applicationCredentialSecret", "s3cr3t",
				"dns.region", "one")),
		Entry("Designate without a login",
			with("dns.authURL", "https://keystone.example.com/v3", "dns.domainName", "a", "dns.tenantName", "b", "dns.username",
				"c"), problem{required, "data[dns.password]"}),
	)

	DescribeTable("of a Secret that is updated",
		func(before, change func(map[string]string), problems ...problem) {
			data := newData()
			before(data)
			oldData := toBytes(data)
			change(data)
			errs := ValidateSecretUpdate(toBytes(data), oldData, field.NewPath("data"))
			Expect(errs).To(haveProblems(problems))
			if len(errs) > 0 {
				Expect(errs.ToAggregate().Error()).NotTo(ContainSubstring("s3cr3t"))
			}
		},
		Entry("rotation", with(), with("cloud.password", "changed")),
		Entry("a new mistake", with(), with("vc.password", "s3cr3t\n"), problem{invalid, "data[vc.password]"}),
		Entry("a new mistake beside an old one", with("vc.password", "s3cr3t\n"), with("cloud.password", ""),
			problem{required, "data[cloud.password]"}),
		Entry("an old mistake of another site",
			with("vc.password", "s3cr3t\n", "kubeconfig", "s3cr3t", "vc.server", "s3cr3t", "vc.user", "s3cr3t"), with("cloud.password", "changed")),
		Entry("an old mistake in another key of the site", with("vc.username", "s3cr3t\n"), with("vc.password", "changed")),
		Entry("an old mistake that goes", with("vc.password", "s3cr3t\n"), without("vc.password")),
		Entry("a value that is still wrong", with("vc.password", "s3cr3t\n"), with("vc.password", "s3cr3t s3cr3t\n"),
			problem{invalid, "data[vc.password]"}),
		Entry("a key that is still wrong", with("vc.server", "s3cr3t"), with("vc.server", "s3cr3t2"), problem{forbidden, "data[vc.server]"}),
		Entry("an old pair that does not fit", with("hall.clientCertificate", "s3cr3t", "hall.clientKey", "s3cr3t"),
			with("cloud.password", "changed")),
		Entry("another certificate that does not fit", with("hall.clientCertificate", "s3cr3t", "hall.clientKey", "s3cr3t"),
			with("hall.clientCertificate", "s3cr3t2"), problem{invalid, "data[hall.clientCertificate]"}),
		Entry("another private key that does not fit", with("hall.clientCertificate", "s3cr3t", "hall.clientKey", "s3cr3t"),
			with("hall.clientKey", "s3cr3t2"), problem{invalid, "data[hall.clientCertificate]"}),
		Entry("keys that are still missing", with("dns.server", "ns.example.com", "dns.tsigKeyName", "key"), with("cloud.password", "changed")),
		Entry("keys that are still missing beside one that changes", with("dns.server", "ns.example.com", "dns.tsigKeyName", "key"),
			with("dns.tsigKeyName", "key2"), problem{required, "data[dns.tsigSecret]"}),
		Entry("keys that a change needs elsewhere", with(), with("dns.site", "other"), problem{required, "data[other.domainName]"}),
		Entry("a key that a change forbids elsewhere",
			with("dns.authURL", "https://keystone.example.com/v3", "dns.applicationCredentialID", "a", "dns.applicationCredentialSecret",
				"b"), with("dns.site", "cloud"),
			problem{forbidden, "data[dns.authURL]"}, problem{forbidden, "data[dns.applicationCredentialID]"}, problem{forbidden,
				"data[dns.applicationCredentialSecret]"}),
	)

	It("validates client certificates", func() {
		certificate, key := newCertificate()
		other, _ := newCertificate()
		data := newData()
		delete(data, "racks.token")

		data["racks.clientCertificate"], data["racks.clientKey"] = certificate, key
		Expect(ValidateCredentials(toBytes(data), sites, field.NewPath("data"))).To(BeEmpty())

		for _, wrong := range []string{other, key, "text"} {
			data["racks.clientCertificate"] = wrong
			Expect(ValidateCredentials(toBytes(data), sites,
				field.NewPath("data"))).To(haveProblems([]problem{{invalid, "data[racks.clientCertificate]"}}))
		}
	})
})

var _ = DescribeTable("#PlatformOfCredentials", func(site string, platform v1alpha1.Platform, keys ...string) {
	data := map[string][]byte{}
	for _, key := range keys {
		data[site+"."+key] = []byte("s3cr3t")
	}
	found, ok := PlatformOfCredentials(data, site)
	Expect(found).To(Equal(platform))
	Expect(ok).To(Equal(platform != ""))
},
	Entry("a user of OpenStack", "a", v1alpha1.PlatformOpenStack, "domainName", "tenantName", "username", "password"),
	Entry("an application credential", "a", v1alpha1.PlatformOpenStack, "applicationCredentialID", "applicationCredentialSecret"),
	Entry("a user of vSphere", "a", v1alpha1.PlatformVSphere, "username", "password"),
	Entry("a token", "a", v1alpha1.PlatformMetal, "token"),
	Entry("not complete", "a", v1alpha1.Platform(""), "username"),
	Entry("a user of vSphere with a token for address pools", "a", v1alpha1.PlatformVSphere, "username", "password", "token"),
	Entry("of two platforms", "a", v1alpha1.Platform(""), "applicationCredentialID", "applicationCredentialSecret", "token"),
	Entry("none", "a", v1alpha1.Platform("")),
	Entry("of no site", "dns", v1alpha1.Platform(""), "domainName", "tenantName", "username", "password"),
)

var _ = DescribeTable("#CheckCredentials", func(platform v1alpha1.Platform, credentials site.Credentials, message string) {
	err := cmp.Or(credentials.Check(), CheckCredentials(platform, credentials))
	if message == "" {
		Expect(err).NotTo(HaveOccurred())
		return
	}
	Expect(err).To(MatchError(And(HavePrefix("credentials: "), ContainSubstring(message), Not(ContainSubstring("s3cr3t")))))
},
	Entry("a password", v1alpha1.PlatformOpenStack,
		site.Credentials{"domainName": "a", "tenantName": "a", "username": "a", "password": "s3cr3t"}, ""),
	Entry("an application credential, and keys that nobody reads", v1alpha1.PlatformOpenStack,
		site.Credentials{"applicationCredentialID": "a", "applicationCredentialSecret": "s3cr3t", "username": "a", "other": "a"}, ""),
	Entry("none", v1alpha1.PlatformOpenStack, nil,
		`key "domainName" is missing; the site needs the keys domainName, tenantName, username, password or applicationCredentialID, `+
			`applicationCredentialSecret`),
	Entry("the second kind is not complete", v1alpha1.PlatformOpenStack, site.Credentials{"applicationCredentialID": "s3cr3t"},
		`key "applicationCredentialSecret" is missing`),
	Entry("an empty key", v1alpha1.PlatformVSphere, site.Credentials{"username": "s3cr3t", "password": ""}, `key "password" is missing`),
	Entry("a line break", v1alpha1.PlatformVSphere, site.Credentials{"username": "a", "password": "s3cr3t\n"}, `key "password" must be text`),
	Entry("a token", v1alpha1.PlatformMetal, site.Credentials{"token": "s3cr3t"}, ""),
	Entry("a certificate that is none", v1alpha1.PlatformMetal, site.Credentials{"clientCertificate": "s3cr3t", "clientKey": "s3cr3t"},
		`key "clientCertificate" must be a PEM certificate`),
)
