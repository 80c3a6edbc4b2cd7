// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"net/http"
	"strings"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// A Secret is changed after admission saw it, or admission never did.
var _ = Describe("CVE-2025-47283", func() {
	designate := func() map[string]string { return login("https://127.0.0.1:1/v3", "") }
	update := func() map[string]string {
		return map[string]string{"server": "127.0.0.1:1", "tsigKeyName": "k", "tsigSecret": "aHVzaC1odXNoLXBhc3N3b3Jk"}
	}
	DescribeTable("should be refused in the seed, by the name of the key",
		func(ctx SpecContext, kind string, base func() map[string]string, key, value, named string) {
			victim := serve("127.0.0.1", true, stolen)
			keys := base()
			if kind == v1alpha1.DNSTypeDesignate {
				delete(keys, "caCert")
			}
			keys[key] = strings.ReplaceAll(value, "VICTIM", victim.URL)
			result := newAttacker().try(ctx, kind, keys)
			Expect(result.text).To(And(ContainSubstring("Secret shoot--mallory--x/dns: "), ContainSubstring("data["+named),
				Not(ContainSubstring(victim.URL))))
			Expect(result.codes).To(ConsistOf(BeEquivalentTo("ERR_CONFIGURATION_PROBLEM")))
			Expect(victim.requests.Load()).To(BeZero())
		},
		Entry("a key that nobody knows", v1alpha1.DNSTypeDesignate, designate, "endpoint", "VICTIM", "endpoint"),
		Entry("a command", v1alpha1.DNSTypeRFC2136, update, "exec", "touch /tmp/x", "exec"),
		Entry("a kubeconfig", v1alpha1.DNSTypeDesignate, designate, "kubeconfig", "{}", "kubeconfig"),
		Entry("a proxy", v1alpha1.DNSTypeDesignate, designate, "proxy", "VICTIM", "proxy"),
		Entry("no check of certificates", v1alpha1.DNSTypeDesignate, designate, "insecure", "true", "insecure"),
		Entry("a site of others", v1alpha1.DNSTypeDesignate, designate, "site", "cloud", "site"),
		Entry("a user in the address", v1alpha1.DNSTypeDesignate, designate, "authURL", "https://a:b@127.0.0.1:1/v3", "authURL"),
		Entry("a query in the address", v1alpha1.DNSTypeDesignate, designate, "authURL", "https://127.0.0.1:1/v3?x=", "authURL"),
		Entry("a file", v1alpha1.DNSTypeDesignate, designate, "authURL", "file:///etc/passwd", "authURL"),
		Entry("a path to a socket", v1alpha1.DNSTypeRFC2136, update, "server", "/run/x.sock", "server"),
		Entry("a URL as server", v1alpha1.DNSTypeRFC2136, update, "server", "https://127.0.0.1:1", "server"),
		Entry("lines", v1alpha1.DNSTypeDesignate, designate, "username", "a\n[Global]", "username"),
		Entry("what is no text", v1alpha1.DNSTypeDesignate, designate, "username", "pass\xff", "username"),
		Entry("a certificate that is none", v1alpha1.DNSTypeDesignate, designate, "caCert", "/etc/ssl/ca.crt", "caCert"),
		Entry("thousands of keys", v1alpha1.DNSTypeDesignate, func() map[string]string {
			keys := designate()
			for i := range 3000 {
				keys[strings.Repeat("k", 1+i%200)+"-"+string(rune('a'+i%26))] = "x"
			}
			return keys
		}, "zzz", "x", "k"),
	)

	It("should be refused without TLS unless the operator allows that", func(ctx SpecContext) {
		plain := serve("127.0.0.1", false, stolen)
		keys := login(plain.URL+"/v3", "")
		delete(keys, "caCert")
		Expect(newAttacker().try(ctx, v1alpha1.DNSTypeDesignate, keys).text).To(Equal("credentials: authURL must begin with https://"))
		Expect(plain.requests.Load()).To(BeZero())
	})
})

// What stands beside the data of a Secret, or in a DNSRecord, is taken for more than it is.
var _ = Describe("CVE-2025-47284", func() {
	It("should read nothing but data from a Secret", func(ctx SpecContext) {
		victim, evil := serve("127.0.0.1", true, stolen), serve("127.0.0.1", true, http.NotFound)
		a := newAttacker()
		a.secret = func(secret *corev1.Secret) {
			secret.Type = "kubernetes.io/" + corev1.SecretType(loot)
			for _, key := range []string{"authURL", "url", "security.gardener.cloud/context-object",
				"workloadidentity.security.gardener.cloud/namespace"} {
				secret.Labels, secret.Annotations = map[string]string{"security.gardener.cloud/purpose": "x"}, map[string]string{key: victim.URL}
			}
		}
		Expect(a.try(ctx, v1alpha1.DNSTypeDesignate, login(evil.URL+"/v3", evil.authority())).text).To(HaveSuffix(unusable))
		Expect(victim.requests.Load()).To(BeZero())
	})

	DescribeTable("should refuse a DNSRecord",
		func(ctx SpecContext, message string, spec func(*extensionsv1alpha1.DNSRecordSpec)) {
			var paths []string
			var evil *server
			evil = keystone(func() string { return evil.URL + "/v2/" }, func(w http.ResponseWriter, r *http.Request) {
				paths = append(paths, r.URL.Path)
				versions(w, evil.URL)
			})
			a := newAttacker()
			a.spec = func(record *extensionsv1alpha1.DNSRecord) { spec(&record.Spec) }
			Expect(a.designate(ctx, evil).text).To(ContainSubstring(message))
			for _, path := range paths {
				Expect(path).NotTo(Or(ContainSubstring("admin"), ContainSubstring("..")))
			}
		},
		Entry("whose name has lines", "spec.name", func(s *extensionsv1alpha1.DNSRecordSpec) { s.Name = "a.test\nb.test. 10 IN A 192.0.2.1" }),
		Entry("whose value has further records", "spec.values[0]",
			func(s *extensionsv1alpha1.DNSRecordSpec) { s.Values = []string{"192.0.2.1\nx.test. A 192.0.2.2"} }),
		Entry("whose alias has further records", "spec.values[0]", func(s *extensionsv1alpha1.DNSRecordSpec) {
			s.RecordType, s.Values = "CNAME", []string{"a.test.\nx.test. A 192.0.2.2"}
		}),
		Entry("whose zone is a path", "spec.zone", func(s *extensionsv1alpha1.DNSRecordSpec) { s.Zone = new("../../admin") }),
		Entry("whose region is none", "region", func(s *extensionsv1alpha1.DNSRecordSpec) { s.Region = new("../admin") }),
	)
})
