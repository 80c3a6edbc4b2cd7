// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

var _ = Describe("Owner", func() {
	o := Owner{Shoot: "shoot--p--n", Site: "vc"}

	It("should own what it has marked, and nothing of another shoot or site", func() {
		Expect(o.OwnsVM(o.ExtraConfig())).To(BeTrue())
		Expect(o.OwnsVM(nil)).To(BeFalse())
		Expect(o.OwnsVM(Owner{Shoot: "shoot--p--m", Site: "vc"}.ExtraConfig())).To(BeFalse())
		Expect(o.OwnsVM(Owner{Shoot: "shoot--p--n", Site: "vc2"}.ExtraConfig())).To(BeFalse())
	})

	It("should give each machine an ID of its own that never changes", func() {
		Expect(o.UUID("shoot--p--n-pool-z1-abc")).To(Equal("db96c50a-d245-5f28-be3d-1499f642ecc4"))
		Expect(o.UUID("a")).To(Equal(strings.ToLower(o.UUID("a"))))
		Expect(o.UUID("a")).NotTo(Equal(o.UUID("b")))
		Expect(o.UUID("a")).NotTo(Equal(Owner{Shoot: "shoot--p--n", Site: "vc2"}.UUID("a")))
		Expect(o.UUID("a")).NotTo(Equal(Owner{Shoot: "shoot--p--m", Site: "vc"}.UUID("a")))
	})

	It("should know the name that a UUID was made of, and take no other for it", func() {
		Expect(o.MachineOf(strings.ToUpper(o.UUID("a")), "", "renamed", "a")).To(Equal("a"))
		Expect(o.MachineOf(o.UUID("a"), "renamed", "b")).To(BeEmpty())
		Expect(o.MachineOf(o.UUID("a"))).To(BeEmpty())
	})
})
