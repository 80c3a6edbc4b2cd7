// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestApp(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Static Host Operator App Suite")
}

var _ = Describe("Options", func() {
	parse := func(args ...string) error {
		GinkgoHelper()
		o, flags := newOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(flags)
		Expect(flags.Parse(args)).To(Succeed())
		return o.validate()
	}

	It("should be valid", func() {
		Expect(parse("--namespaces=rack-a,rack-b", "--secret-namespace=operator")).To(Succeed())
	})

	DescribeTable("should be refused",
		func(message string, args ...string) {
			Expect(parse(append([]string{"--namespaces=hosts", "--secret-namespace=operator"}, args...)...)).To(
				MatchError(ContainSubstring(message)))
		},
		Entry("with Secrets for SSH where shoots are", "shoots can write Secrets there", "--secret-namespace=hosts"),
		Entry("without a namespace of Secrets", "--secret-namespace is required", "--secret-namespace="),
		Entry("without hosts at the same time", "must be at least 1", "--max-concurrent-hosts=0"),
		Entry("without limits", "--command-timeout is 0s", "--command-timeout=0"),
		Entry("with an interval that is too short", "--refresh-interval is 1ms", "--refresh-interval=1ms"),
		Entry("with back-offs in the wrong order", "must be at most --max-back-off", "--min-back-off=1h"),
	)

	It("should need namespaces", func() {
		Expect(parse("--secret-namespace=operator")).To(MatchError(ContainSubstring("--namespaces is required")))
	})
})
