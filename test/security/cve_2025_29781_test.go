// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// A reference of a tenant has a namespace, and so reads what is others'.
var _ = Describe("CVE-2025-29781 and GHSA-pqfh-xh7w-7h3p", func() {
	const version = "apiVersion: hybrid.provider.extensions.gardener.cloud/v1alpha1\nkind: "
	infrastructure := func(document string) error {
		_, err := codec.DecodeBytes[v1alpha1.InfrastructureConfig]([]byte(version + "InfrastructureConfig\n" + document))
		return err
	}
	worker := func(document string) error {
		_, err := codec.DecodeBytes[v1alpha1.WorkerConfig]([]byte(version + "WorkerConfig\n" + document))
		return err
	}
	DescribeTable("should be no field",
		func(decode func(string) error, good, bad string) {
			Expect(decode(good)).To(Succeed())
			Expect(decode(bad)).To(MatchError(ContainSubstring("unknown field")))
		},
		Entry("of an address pool", infrastructure,
			"networks: {topology: Routed}\n"+
				"sites: [{name: rack, nodes: [10.0.0.0/24], metal: {ipam: {poolRef: {apiGroup: g, kind: k, name: pool}}}}]",
			"networks: {topology: Routed}\n"+
				"sites: [{name: rack, nodes: [10.0.0.0/24], metal: {ipam: {poolRef: {apiGroup: g, kind: k, name: pool, namespace: other}}}}]"),
		Entry("of a site", infrastructure,
			"networks: {topology: Routed}\nsites: [{name: rack, nodes: [10.0.0.0/24], metal: {}}]",
			"networks: {topology: Routed}\nsites: [{name: rack, nodes: [10.0.0.0/24], metal: {namespace: other}}]"),
		Entry("of a selector of hosts", worker,
			"sites: [{name: rack, metal: {hostSelector: {matchLabels: {a: b}}}}]",
			"sites: [{name: rack, metal: {hostSelector: {matchLabels: {a: b}, namespace: other}}}]"),
		Entry("of a pool", worker,
			"sites: [{name: rack, metal: {}}]",
			"sites: [{name: rack, metal: {userData: {name: x, namespace: other}}}]"),
	)
})
