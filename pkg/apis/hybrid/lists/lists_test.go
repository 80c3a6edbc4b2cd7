// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lists_test

import (
	"strconv"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
)

func TestLists(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Lists Suite")
}

var _ = Describe("Lists", func() {
	It("should find the first item itself", func() {
		items := []int{1, 2, 4}
		isEven := func(i *int) bool { return *i%2 == 0 }
		*lists.Find(items, isEven) = 3
		Expect(items).To(Equal([]int{1, 3, 4}))
		Expect(lists.Find(items[:2], isEven)).To(BeNil())
	})

	It("should map items in their order", func() {
		Expect(lists.Map([]int{2, 1}, strconv.Itoa)).To(Equal([]string{"2", "1"}))
		Expect(lists.Map(nil, strconv.Itoa)).To(BeNil())
	})
})
