// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Host of a new server", func() {
	var (
		api *nova
		c   *call
	)

	BeforeEach(func() {
		api = newNova()
		api.date = time.Now()
		c = newCall(api)
		c.request.ProviderID = "openstack:///1"
	})

	scheduling := func() server {
		s := newServer("1", "BUILD")
		s.Task = taskScheduling
		return s
	}
	failed := func(message string) server {
		s := newServer("1", "ERROR")
		s.Fault = serverFault{Code: 500, Message: message}
		return s
	}

	DescribeTable("should be waited for",
		func(ctx SpecContext, decided server, class platform.Class) {
			api.answers(scheduling())
			api.before = func() {
				if len(api.queries()) == 2 {
					api.answers(decided)
				}
			}
			err := c.awaitHost(ctx)
			Expect(api.queries()).To(HaveLen(3))
			if class == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(platform.ClassOf(err)).To(Equal(class))
		},
		Entry("until it boots", newServer("1", "BUILD"), platform.Class("")),
		Entry("until it runs", newServer("1", "ACTIVE"), platform.Class("")),
		Entry("until there is none", failed("No valid host was found. "), platform.ClassExhausted),
		Entry("until there is no quota", failed("Quota exceeded for volumes"), platform.ClassQuota),
	)

	It("should not be waited for longer than a moment", func(ctx SpecContext) {
		api.answers(scheduling())
		start := time.Now()
		Expect(c.awaitHost(ctx)).To(Succeed())
		Expect(time.Since(start)).To(BeNumerically("~", hostTimeout, time.Second))
	})

	It("should have its fault read if the list does not have it yet", func(ctx SpecContext) {
		api.answers(failed(""))
		api.before = func() { api.hides(); api.answers(failed("No valid host was found. ")) }
		Expect(platform.ClassOf(c.awaitHost(ctx))).To(Equal(platform.ClassExhausted))
		Expect(api.read).To(Equal([]string{"1"}))
	})
})
