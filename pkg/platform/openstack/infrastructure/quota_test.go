// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Quota", func() {
	pool := func(index, cores, minimum, maximum int) need {
		return need{
			path:    fieldpath.NewPath("workers").Index(index),
			each:    amounts{resourceServers: 1, resourceCores: cores},
			minimum: minimum,
			maximum: maximum,
		}
	}

	Describe("what it leaves", func() {
		It("should be the limit without what others use", func() {
			q := quota{limit: amounts{resourceCores: 20}, used: amounts{resourceCores: 15}}
			Expect(q.leaves(amounts{resourceCores: 4})).To(Equal(amounts{resourceCores: 9}))
		})

		It("should be unlimited for negative limits, and nothing for a limit of zero", func() {
			q := quota{limit: amounts{resourceCores: -1, resourceServers: 0}, used: amounts{resourceCores: 15}}
			Expect(q.leaves(nil)).To(Equal(amounts{resourceServers: 0}))
		})

		It("should be negative if others use more than the limit", func() {
			q := quota{limit: amounts{resourceCores: 10}, used: amounts{resourceCores: 15}}
			Expect(q.leaves(nil)).To(Equal(amounts{resourceCores: -5}))
		})
	})

	DescribeTable("should be compared with what pools need",
		func(ctx SpecContext, left amounts, needs []need, shortage string, warnings []string) {
			findings, err := platform.Checks[any]{{Run: func(_ any, _ context.Context, result *platform.Result) error {
				compare(needs, left, result)
				return nil
			}}}.Run(ctx, nil, nil)
			Expect(err).NotTo(HaveOccurred())
			if shortage == "" {
				Expect(findings.Err()).NotTo(HaveOccurred())
			} else {
				Expect(findings.Err()).To(MatchError(shortage))
				Expect(platform.ClassOf(findings.Err())).To(Equal(platform.ClassQuota))
			}
			Expect(findings.Warnings()).To(Equal(warnings))
			var minimum, maximum int
			for _, n := range needs {
				minimum, maximum = minimum+n.minimum*n.each[resourceCores], maximum+n.maximum*n.each[resourceCores]
			}
			if available, ok := left[resourceCores]; ok {
				Expect(findings.Rooms).To(ContainElement(platform.Room{Resource: "cores", Minimum: minimum, Maximum: maximum, Available: available}))
			}
		},
		Entry("enough for all", amounts{resourceCores: 40}, []need{pool(0, 4, 1, 5), pool(1, 4, 1, 5)}, "", nil),
		Entry("unlimited", amounts{}, []need{pool(0, 4, 1000, 100000)}, "", nil),
		Entry("too little for the maximum of the second pool", amounts{resourceCores: 39}, []need{pool(0, 4, 1, 5), pool(1, 4, 1, 5)},
			"", []string{`workers[1].maximum: the pools need up to 40 cores, the quota leaves 39`}),
		Entry("too little for the minimum of the first pool", amounts{resourceCores: 8}, []need{pool(0, 4, 3, 5), pool(1, 2, 0, 5)},
			"workers[0].minimum: Forbidden: the pools need at least 12 cores, the quota leaves 8", nil),
		Entry("too little for all minima together", amounts{resourceCores: 12}, []need{pool(0, 4, 3, 3), pool(1, 2, 1, 1)},
			"workers[1].minimum: Forbidden: the pools need at least 14 cores, the quota leaves 12", nil),
		Entry("nothing left, and a pool that needs nothing at first", amounts{resourceServers: -3}, []need{pool(0, 4, 0, 0), pool(1, 4, 0, 1)},
			"", []string{`workers[1].maximum: the pools need up to 1 servers, the quota leaves 0`}),
		Entry("several resources", amounts{resourceServers: 1, resourceCores: 4}, []need{pool(0, 4, 1, 2)},
			"", []string{
				`workers[0].maximum: the pools need up to 2 servers, the quota leaves 1`,
				`workers[0].maximum: the pools need up to 8 cores, the quota leaves 4`,
			}),
	)
})
