// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package podnetwork_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
)

var _ = Describe("Fields", func() {
	read := func(text string) Fields {
		GinkgoHelper()
		fields, err := Read(&runtime.RawExtension{Raw: []byte(text)})
		Expect(err).NotTo(HaveOccurred())
		return fields
	}

	It("are none where there is no configuration", func() {
		Expect(Read(nil)).To(BeNil())
		Expect(Read(&runtime.RawExtension{Raw: []byte(" \n")})).To(BeNil())
		Expect(read("null")).To(BeNil())
		_, err := Read(&runtime.RawExtension{Raw: []byte(`[]`)})
		Expect(err).To(MatchError(HavePrefix("must be an object")))
	})

	DescribeTable("set or not", func(text string, expected bool) {
		Expect(read(text).Has("a", "b")).To(Equal(expected))
	},
		Entry("nothing", `null`, false),
		Entry("not the object", `{}`, false),
		Entry("not the field", `{"a":{}}`, false),
		Entry("null", `{"a":{"b":null}}`, false),
		Entry("no object", `{"a":1}`, false),
		Entry("set", `{"a":{"b":false}}`, true),
	)

	DescribeTable("switches", func(text string, expected bool, message string) {
		on, err := read(text).Flag("a", "b")
		Expect(on).To(Equal(expected))
		if message != "" {
			Expect(err).To(MatchError(message))
		} else {
			Expect(err).NotTo(HaveOccurred())
		}
	},
		Entry("nothing", `null`, false, ""),
		Entry("null", `{"a":null}`, false, ""),
		Entry("on", `{"a":{"b":true}}`, true, ""),
		Entry("a text", `{"a":{"b":"yes"}}`, false, "a.b must be true or false"),
		Entry("in a list", `{"a":[]}`, false, "a must be an object"),
	)

	DescribeTable("encapsulation of Calico", func(text string, ipv6 bool, expected Encapsulation, overhead int) {
		encapsulation, err := read(text).CalicoEncapsulation(ipv6)
		Expect(err).NotTo(HaveOccurred())
		Expect(encapsulation).To(Equal(expected))
		Expect(encapsulation.Overhead(ipv6)).To(BeEquivalentTo(overhead))
	},
		Entry("nothing", `{}`, false, EncapsulationIPIP, 20),
		Entry("VXLAN", `{"vxlan":{"enabled":true}}`, false, EncapsulationVXLAN, 50),
		Entry("pool", `{"ipv4":{"pool":"vxlan"}}`, false, EncapsulationVXLAN, 50),
		Entry("backend", `{"backend":"vxlan"}`, false, EncapsulationVXLAN, 50),
		Entry("IPv6", `{}`, true, EncapsulationVXLAN, 70),
		Entry("WireGuard", `{"wireguardEncryption":true}`, false, EncapsulationWireGuard, 60),
		Entry("WireGuard with IPv6", `{"wireguardEncryption":true}`, true, EncapsulationWireGuard, 80),
	)

	It("has the MTUs that are asked for", func() {
		Expect(read(`{"vethMTU":"1400"}`).CalicoMTU()).To(BeEquivalentTo(1400))
		Expect(read(`{}`).CalicoMTU()).To(BeZero())
		Expect(read(`{"mtu":1400}`).CiliumMTU()).To(BeEquivalentTo(1400))
		Expect(read(`{}`).CiliumMTU()).To(BeZero())
		for _, text := range []string{`{"mtu":-1}`, `{"mtu":65536}`, `{"mtu":1.5}`, `{"mtu":"1"}`} {
			_, err := read(text).CiliumMTU()
			Expect(err).To(MatchError("mtu must be a number of bytes between 0 and 65535"), text)
		}
	})
})
