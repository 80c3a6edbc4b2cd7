// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"net/netip"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("The example of a Bastion", func() {
	It("should be one that the extension reconciles", func() {
		bastion := readOne[extensionsv1alpha1.Bastion]("30-bastion.yaml")
		Expect(bastion.Spec.Type).To(Equal(v1alpha1.ProviderType))
		Expect(string(bastion.Spec.UserData)).To(HavePrefix("#!/bin/bash -eu\n"))
		Expect(bastion.Spec.Ingress).To(HaveLen(1))
		_, err := netip.ParsePrefix(bastion.Spec.Ingress[0].IPBlock.CIDR)
		Expect(err).NotTo(HaveOccurred())
	})
})
