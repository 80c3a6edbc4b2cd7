// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package networkdata_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
)

var _ = Describe("Network data", func() {
	values := Values{
		Machine: "m-1", Host: "rack-07", MAC: "52:54:00:00:00:07", Address: "10.250.128.7", Prefix: 16, Gateway: "10.250.0.1",
		DNSServers: []string{"192.0.2.53", "192.0.2.54"}, MTU: 1450,
	}

	DescribeTable("#Parse", func(template string, variables ...Variable) {
		found, err := Parse(template)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(HaveExactElements(variables))
	},
		Entry("none", "DHCP=yes"),
		Entry("with and without braces, each once", "$MTU ${ADDRESS}/$PREFIX ${MTU}", Address, MTU, Prefix),
		Entry("next to other characters", "a${MAC}b$HOST.c", Host, MAC),
		Entry("a name that begins with another", "$DNS_SERVERS_JSON", DNSServersJSON),
		Entry("doubled dollar signs", "$$MTU $${HOST} $$$MAC", MAC),
	)

	DescribeTable("#Parse fails", func(template, message string) {
		_, err := Parse(template)
		Expect(err).To(MatchError(ContainSubstring(message)))
	},
		Entry("another name", "a $IP b",
			`unknown variable "$IP": must be one of ["MACHINE" "HOST" "MAC" "ADDRESS" "PREFIX" "GATEWAY" "DNS_SERVERS" "DNS_SERVERS_JSON" "MTU"]`),
		Entry("small letters", "${mtu}", `unknown variable "${mtu}": must be one of`),
		Entry("a name that goes on", "$MTU_2", `unknown variable "$MTU_2": must be one of`),
		Entry("a default", "${MTU:-1500}", `unknown variable "${MTU:-1500}": must be one of`),
		Entry("no name in braces", "a ${} b", `unknown variable "${}": must be one of`),
		Entry("no closing brace", "a ${MTU", `"${MTU" has no closing brace`),
		Entry("a lonely dollar sign", "cost: 5 $ each", "must be doubled"),
		Entry("a dollar sign at the end", "cost $", "must be doubled"),
		Entry("what a shell would replace", "$1 and $*", "must be doubled"),
	)

	DescribeTable("#Expand", func(template, expected string) {
		filled, err := Expand(template, values)
		Expect(err).NotTo(HaveOccurred())
		Expect(filled).To(Equal(expected))
	},
		Entry("all", "$MACHINE ${HOST} $MAC $ADDRESS/$PREFIX $GATEWAY $DNS_SERVERS $DNS_SERVERS_JSON ${MTU}b",
			`m-1 rack-07 52:54:00:00:00:07 10.250.128.7/16 10.250.0.1 192.0.2.53 192.0.2.54 ["192.0.2.53","192.0.2.54"] 1450b`),
		Entry("dollar signs", "$$MTU $${HOST} $$$MTU", "$MTU ${HOST} $1450"),
		Entry("nothing", "DHCP=yes", "DHCP=yes"),
	)

	DescribeTable("#Expand fails", func(template, message string) {
		_, err := Expand(template, Values{Machine: "m-1"})
		Expect(err).To(MatchError(ContainSubstring(message)))
	},
		Entry("for what is not known", "$MACHINE $ADDRESS", `the template has "ADDRESS", which is not known`),
		Entry("without resolvers", "$DNS_SERVERS_JSON", `the template has "DNS_SERVERS_JSON", which is not known`),
		Entry("without an MTU", "$MTU", `the template has "MTU", which is not known`),
		Entry("for another name", "$IP", `unknown variable "$IP": must be one of`),
	)
})
