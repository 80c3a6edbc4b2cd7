// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("reservations", func() {
	It("should give a host to one caller at a time, and not at once again to those who may not know", func() {
		r := NewReservations()
		Expect(r.Reserve("h", false)).To(BeTrue())
		Expect(r.Reserve("h", true)).To(BeFalse())
		r.Release("h", false)
		Expect(r.Reserve("h", false)).To(BeTrue())
		r.Release("h", true)
		Expect(r.Reserve("h", false)).To(BeFalse())
		Expect(r.Reserve("h", true)).To(BeTrue())
		r.Release("h", true)
		r.claimed["h"] = time.Now().Add(-watchLag)
		Expect(r.Reserve("h", false)).To(BeTrue())
	})
})
