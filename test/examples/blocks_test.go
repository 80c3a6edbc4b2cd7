// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// checks are the checks of blocks, by their language. An indented block has none, so it has no check.
var checks = map[string]func(SpecContext, documents.Block){
	"yaml":    expectFields,
	"sh":      expectCommands,
	"console": expectSession,
	"go":      expectSource,
	"ini":     expectINI,
	"promql":  expectQueries,
	"bind":    expectZones,
	"text":    expectPackages,
	"mermaid": expectDiagram,
}

// blocks are the blocks of all documents, without the indentation of the lists that they are in.
func blocks() []documents.Block {
	GinkgoHelper()
	root := landscape.Root()
	paths := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	Expect(filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			paths = append(paths, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})).To(Succeed())

	var found []documents.Block
	for _, document := range paths {
		inDocument, err := documents.Read(document)
		Expect(err).NotTo(HaveOccurred())
		found = append(found, inDocument...)
	}
	return found
}

// ofLanguage are the blocks of a language, of which there must be a number at least.
func ofLanguage(language string, minimum int) []documents.Block {
	GinkgoHelper()
	found := slices.DeleteFunc(blocks(), func(b documents.Block) bool { return b.Language != language })
	Expect(len(found)).To(BeNumerically(">=", minimum))
	return found
}

var _ = Describe("Blocks of code in documents", func() {
	It("should all have a language with a check", func() {
		counts := map[string]int{}
		var untested []string
		all := blocks()
		for _, b := range all {
			counts[b.Language]++
			if checks[b.Language] == nil {
				untested = append(untested, b.String())
			}
		}
		Expect(len(all)).To(BeNumerically(">", 110))
		AddReportEntry(fmt.Sprintf("%d blocks of code, of which %d are tested", len(all), len(all)-len(untested)), counts)
		Expect(untested).To(BeEmpty())
	})

	for _, language := range slices.Sorted(maps.Keys(checks)) {
		It("should be right: "+language, func(ctx SpecContext) {
			for _, b := range ofLanguage(language, 1) {
				checks[language](ctx, b)
			}
		})
	}
})

// reference is a folder of packages, an exported name of one in pkg, or a binary.
var reference = regexp.MustCompile(`\b(?:pkg|cmd)/[a-z0-9/]+|\b[a-z]+\.[A-Z]\w+|\b[a-z-]+-provider-hybrid\b`)

// expectPackages expects folders, and names of packages, that exist.
func expectPackages(_ SpecContext, b documents.Block) {
	GinkgoHelper()
	references := reference.FindAllString(b.Text, -1)
	Expect(references).NotTo(BeEmpty(), b.String())
	for _, name := range references {
		folder, exported, isName := strings.Cut(name, ".")
		if strings.HasSuffix(name, "-hybrid") {
			folder = filepath.Join("cmd", name)
		}
		if !isName {
			Expect(filepath.Join(landscape.Root(), folder)).To(BeADirectory(), b.Document)
			continue
		}
		files, err := filepath.Glob(filepath.Join(landscape.Root(), "pkg", folder, "*.go"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty(), "%s: %s", b.Document, name)
		Expect(slices.ContainsFunc(files, func(file string) bool {
			content, err := os.ReadFile(file) // #nosec G304 -- a file of the project
			Expect(err).NotTo(HaveOccurred())
			return regexp.MustCompile(`(?m)^(func|type) ` + exported + `\b`).Match(content)
		})).To(BeTrue(), "%s: %s", b.Document, name)
	}
}

// diagrams are the kinds of diagrams in documents. The suite of the site lets a browser draw each.
var diagrams = []string{"flowchart", "sequenceDiagram", "stateDiagram-v2"}

// expectDiagram expects a kind of diagram, and the same number of beginnings and ends of its parts.
func expectDiagram(_ SpecContext, b documents.Block) {
	GinkgoHelper()
	Expect(diagrams).To(ContainElement(strings.Fields(b.Text)[0]), b.String())
	lines := func(expression string) int {
		return len(regexp.MustCompile(`(?m)^\s*(`+expression+`)\b`).FindAllString(b.Text, -1))
	}
	Expect(lines("subgraph|alt|loop|opt|par|rect|box")).To(Equal(lines("end")), b.String())
}
