// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// named is a test in a table: the folder, and words of a spec.
var named = regexp.MustCompile("`([a-z0-9/]+)` \"([^\"]+)\"")

var _ = Describe("Threat model", func() {
	It("should name a test for each line of defence", func() {
		content, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "development", "threat-model.md"))
		Expect(err).NotTo(HaveOccurred())
		_, lines, found := strings.Cut(string(content), "## Lines of defense")
		Expect(found).To(BeTrue())
		lines, _, found = strings.Cut(lines, "\n## ")
		Expect(found).To(BeTrue())

		rows := 0
		var missing []string
		for line := range strings.Lines(lines) {
			if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| line ") {
				continue
			}
			rows++
			tests := named.FindAllStringSubmatch(line, -1)
			Expect(tests).NotTo(BeEmpty(), line)
			for _, test := range tests {
				if !isTested(test[1], test[2]) {
					missing = append(missing, test[0])
				}
			}
		}
		Expect(rows).To(BeNumerically(">", 20))
		Expect(missing).To(BeEmpty())
	})
})

// isTested reports whether a test file in the folder has the words in quotation marks.
func isTested(folder, words string) bool {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(landscape.Root(), folder, "*_test.go"))
	Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		content, err := os.ReadFile(file) // #nosec G304 -- a file of the project
		Expect(err).NotTo(HaveOccurred())
		if strings.Contains(string(content), `"`+words) {
			return true
		}
	}
	return false
}
