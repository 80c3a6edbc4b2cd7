// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Words", func() {
	DescribeTable("should tell of a text what can be told",
		func(text, expected string) { Expect(platform.Printable(text)).To(Equal(expected)) },
		Entry("a short one", "No valid host was found.", "No valid host was found."),
		Entry("several lines", " a\r\n\tb\x00c\x1b[31m ", "a   bc[31m"),
		Entry("no UTF-8", "a\xff\xfeb", "ab"),
		Entry("invisible", "a\u202eb\u200b", "ab"),
		Entry("a long one", strings.Repeat("ä", 200), strings.Repeat("ä", 98)+"…"),
		Entry("one that ends in what is dropped", "a"+strings.Repeat("\x00", 2<<20)+"b", "a…"),
	)

	It("should tell no document", func() {
		cause := errors.New(`failed to unmarshal versions document: {"SecretAccessKey":"s3cr3t"}`)
		err := platform.Foreign(cause)
		Expect(err).To(MatchError("failed to unmarshal versions document: (document)"))
		Expect(errors.Is(err, cause)).To(BeTrue())
		Expect(platform.Foreign(errors.New("<html>"))).To(MatchError(": (document)"))
	})

	It("should tell of a request that failed what is needed to find out why", func() {
		err := platform.Foreign(fmt.Errorf("wrapped: %w", &url.Error{
			Op: "Get", URL: "https://site/v2.0/ports?" + strings.Repeat("a", 1000), Err: errors.New("dial tcp 192.0.2.1:443: connection refused"),
		}))
		Expect(err).To(MatchError(`Get "https://site/v2.0/ports": dial tcp 192.0.2.1:443: connection refused`))
	})

	It("should have room for each error in a status", func() {
		long := errors.New(strings.Repeat("x", 2<<20))
		err := platform.InSite("a",
			errors.Join(platform.NewError(platform.ClassQuota, "%w", long), platform.NewError(platform.ClassForbidden, "b")))
		parts := strings.Split(err.Error(), "\n")
		Expect(parts).To(HaveLen(2))
		Expect(parts[0]).To(SatisfyAll(HavePrefix(`site "a": xxx`), HaveSuffix("…")))
		Expect(parts[0]).To(HaveLen(900))
		Expect(parts[1]).To(Equal(`site "a": b`))
		Expect(errors.Is(err, long)).To(BeTrue())
	})
})
