// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("Cloud controllers", func() {
	It("should count the slowest node that joined while a site hung", func() {
		records := []Record{sample(runWell, quantityInit, 9), sample(runHanging, quantityInit, 0.1), sample(runHanging, quantityInit, 0.3)}
		Expect(worstNode(records)).To(Equal(0.3))
		Expect(records).To(HaveLen(3))
		_, err := worstNode(records[:1])
		Expect(err).To(HaveOccurred())
	})

	It("should let nodes join as they do", func() {
		node := joining{name: "a", systemUUID: "u", address: "10.0.0.1"}.object("racks")
		Expect(initialized(node)).To(BeFalse())
		Expect(node.Status.NodeInfo.SystemUUID).To(Equal("u"))
		Expect(node.Status.Addresses).To(ContainElement(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}))
		node.Spec.Taints = nil
		Expect(initialized(node)).To(BeTrue())
		Expect(joining{name: "b"}.object("vc").Status.Addresses).To(BeEmpty())
	})
})
