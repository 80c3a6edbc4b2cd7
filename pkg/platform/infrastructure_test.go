// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Findings", func() {
	var (
		pools    = field.NewPath("pools")
		mistake  = field.NotFound(field.NewPath("network"), "n")
		shortage = field.Forbidden(pools.Index(0), "needs 12 cores, the quota leaves 8")
		another  = field.Forbidden(pools.Index(1), "needs 2 cores, the quota leaves none")
	)

	DescribeTable("#Err",
		func(findings Findings, class Class, message string) {
			err := findings.Err()
			Expect(err).To(MatchError(message))
			Expect(ClassOf(err)).To(Equal(class))
		},
		Entry("a mistake", Findings{Errors: field.ErrorList{mistake}}, ClassConfiguration, `network: Not found: "n"`),
		Entry("shortages", Findings{Shortages: field.ErrorList{shortage, another}}, ClassQuota,
			"pools[0]: Forbidden: needs 12 cores, the quota leaves 8\npools[1]: Forbidden: needs 2 cores, the quota leaves none"),
		Entry("both", Findings{Errors: field.ErrorList{mistake}, Shortages: field.ErrorList{shortage}}, ClassConfiguration,
			"network: Not found: \"n\"\npools[0]: Forbidden: needs 12 cores, the quota leaves 8"),
	)

	It("are no error if they only warn", func() {
		Expect(Findings{Warnings: []string{"tight"}}.Err()).To(Succeed())
	})
})
