// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var (
	// inBackticks is a path from the root of the project.
	inBackticks = regexp.MustCompile("`((?:pkg|cmd|hack|test|charts|example|docs)/[A-Za-z0-9_./-]+)`")
	// linked is the target of a link to another file.
	linked = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)\s]*)?\)`)
	// elsewhere are paths that make targets create, and those of other projects.
	elsewhere = regexp.MustCompile(`^(hack/bin(/|$)|test/envtest$)`)
)

var _ = Describe("Documents", func() {
	It("should name and link only files that exist", func() {
		var (
			root    = landscape.Root()
			missing []string
			checked int
		)
		exists := func(document, path string) {
			checked++
			if _, err := os.Stat(path); err != nil {
				missing = append(missing, strings.TrimPrefix(document, root+"/")+": "+strings.TrimPrefix(path, root+"/"))
			}
		}
		look := func(document string) {
			content, err := os.ReadFile(document) // #nosec G304 -- a file of the project
			Expect(err).NotTo(HaveOccurred())
			for _, path := range inBackticks.FindAllStringSubmatch(string(content), -1) {
				if !elsewhere.MatchString(path[1]) {
					exists(document, filepath.Join(root, path[1]))
				}
			}
			for _, target := range linked.FindAllStringSubmatch(string(content), -1) {
				exists(document, filepath.Join(filepath.Dir(document), target[1]))
			}
		}
		for _, document := range []string{"README.md", "CONTRIBUTING.md", "test/README.md"} {
			look(filepath.Join(root, document))
		}
		Expect(filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
				look(path)
			}
			return err
		})).To(Succeed())

		Expect(checked).To(BeNumerically(">", 300))
		Expect(missing).To(BeEmpty())
	})
})
