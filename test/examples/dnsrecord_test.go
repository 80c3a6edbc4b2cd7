// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"os"
	"path/filepath"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
)

var _ = DescribeTable("DNSRecords are valid, and so are their Secrets",
	func(file string) {
		content, err := os.ReadFile(filepath.Join("..", "..", "example", file))
		Expect(err).NotTo(HaveOccurred())
		documents := bytes.Split(content, []byte("\n---\n"))
		Expect(documents).To(HaveLen(2))
		secret, record := &corev1.Secret{}, &extensionsv1alpha1.DNSRecord{}
		Expect(yaml.UnmarshalStrict(documents[0], secret)).To(Succeed())
		Expect(yaml.UnmarshalStrict(documents[1], record)).To(Succeed())

		Expect(record.Spec.SecretRef).To(Equal(corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}))
		data := map[string][]byte{}
		for key, value := range secret.StringData {
			data[key] = []byte(value)
		}
		credentials, prefix := dns.ParseCredentials(data)
		Expect(validation.ValidateDNSCredentials(record.Spec.Type, credentials, prefix, field.NewPath("data"))).To(BeEmpty())
		_, err = dns.NewRecord(record.Spec.Name, dns.Type(record.Spec.RecordType), record.Spec.Values, record.Spec.TTL)
		Expect(err).NotTo(HaveOccurred())
	},
	Entry("Designate", "30-dnsrecord-designate.yaml"),
	Entry("dynamic updates", "30-dnsrecord-rfc2136.yaml"),
)
