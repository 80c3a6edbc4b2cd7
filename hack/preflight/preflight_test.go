// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Preflight checks", func() {
	It("should be described by the page as the code does, see `make generate`", func() {
		want, err := render(areas())
		Expect(err).NotTo(HaveOccurred())
		Expect(os.ReadFile(filepath.Join(landscape.Root(), page))).To(BeEquivalentTo(want))
	})

	It("should have unique IDs, a title, a remedy, and need checks that are made before", func() {
		seen := map[string]bool{}
		for _, area := range areas() {
			for _, check := range area.Checks {
				Expect(check.ID).To(MatchRegexp(`^[a-z]+(-[a-z0-9]+)+$`))
				Expect(seen).NotTo(HaveKey(check.ID))
				Expect(check.Title).To(MatchRegexp(`^[A-Z].*\.$`), check.ID)
				Expect(check.Remedy).To(MatchRegexp(`^[A-Z].*\.$`), check.ID)
				for _, need := range check.Needs {
					Expect(seen).To(HaveKey(need), check.ID)
				}
				seen[check.ID] = true
			}
		}
	})
})
