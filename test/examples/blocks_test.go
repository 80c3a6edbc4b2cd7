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
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	markdown "github.com/yuin/goldmark/text"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// block is a block of code in a document.
type block struct {
	document, language, text string
}

// String is the document and the text, for messages.
func (b block) String() string {
	return b.document + ":\n" + b.text
}

// checks are the checks of blocks, by their language. An indented block has none, so it has no check.
var checks = map[string]func(SpecContext, block){
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
func blocks() []block {
	GinkgoHelper()
	root := landscape.Root()
	documents := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	Expect(filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			documents = append(documents, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})).To(Succeed())

	var found []block
	for _, document := range documents {
		content, err := os.ReadFile(filepath.Join(root, document)) // #nosec G304 -- a file of the project
		Expect(err).NotTo(HaveOccurred())
		Expect(ast.Walk(goldmark.DefaultParser().Parse(markdown.NewReader(content)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering || n.Kind() != ast.KindFencedCodeBlock && n.Kind() != ast.KindCodeBlock {
				return ast.WalkContinue, nil
			}
			b := block{document: document, text: string(n.Lines().Value(content))}
			if fenced, ok := n.(*ast.FencedCodeBlock); ok {
				b.language = string(fenced.Language(content))
			}
			found = append(found, b)
			return ast.WalkContinue, nil
		})).To(Succeed())
	}
	return found
}

// ofLanguage are the blocks of a language, of which there must be a number at least.
func ofLanguage(language string, minimum int) []block {
	GinkgoHelper()
	found := slices.DeleteFunc(blocks(), func(b block) bool { return b.language != language })
	Expect(len(found)).To(BeNumerically(">=", minimum))
	return found
}

var _ = Describe("Blocks of code in documents", func() {
	It("should all have a language with a check", func() {
		counts := map[string]int{}
		var untested []string
		all := blocks()
		for _, b := range all {
			counts[b.language]++
			if checks[b.language] == nil {
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
func expectPackages(_ SpecContext, b block) {
	GinkgoHelper()
	references := reference.FindAllString(b.text, -1)
	Expect(references).NotTo(BeEmpty(), b.String())
	for _, name := range references {
		folder, exported, isName := strings.Cut(name, ".")
		if strings.HasSuffix(name, "-hybrid") {
			folder = filepath.Join("cmd", name)
		}
		if !isName {
			Expect(filepath.Join(landscape.Root(), folder)).To(BeADirectory(), b.document)
			continue
		}
		files, err := filepath.Glob(filepath.Join(landscape.Root(), "pkg", folder, "*.go"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty(), "%s: %s", b.document, name)
		Expect(slices.ContainsFunc(files, func(file string) bool {
			content, err := os.ReadFile(file) // #nosec G304 -- a file of the project
			Expect(err).NotTo(HaveOccurred())
			return regexp.MustCompile(`(?m)^(func|type) ` + exported + `\b`).Match(content)
		})).To(BeTrue(), "%s: %s", b.document, name)
	}
}

// diagrams are the kinds of diagrams in documents. The suite of the site lets a browser draw each.
var diagrams = []string{"flowchart", "sequenceDiagram", "stateDiagram-v2"}

// expectDiagram expects a kind of diagram, and the same number of beginnings and ends of its parts.
func expectDiagram(_ SpecContext, b block) {
	GinkgoHelper()
	Expect(diagrams).To(ContainElement(strings.Fields(b.text)[0]), b.String())
	lines := func(expression string) int {
		return len(regexp.MustCompile(`(?m)^\s*(`+expression+`)\b`).FindAllString(b.text, -1))
	}
	Expect(lines("subgraph|alt|loop|opt|par|rect|box")).To(Equal(lines("end")), b.String())
}
