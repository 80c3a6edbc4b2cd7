// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// camelCase is the form of the reasons of conditions and events.
var camelCase = regexp.MustCompile(`^[A-Z][a-z]+([A-Z][a-z]+)+$`)

// literal returns the value of a string literal in CamelCase, or "".
func literal(e ast.Expr) string {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return ""
	}
	if value, err := strconv.Unquote(basic.Value); err == nil && camelCase.MatchString(value) {
		return value
	}
	return ""
}

// reasonsIn returns the constants of a file that are reasons, and the reasons in its calls of event recorders.
func reasonsIn(file *ast.File) []string {
	var found []string
	add := func(e ast.Expr) {
		if value := literal(e); value != "" {
			found = append(found, value)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				if strings.HasPrefix(strings.ToLower(n.Names[i].Name), "reason") {
					add(value)
				}
			}
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Event", "Eventf", "Normal", "Warning"}, called.Sel.Name) {
				for _, argument := range n.Args {
					add(argument)
				}
			}
		}
		return true
	})
	return found
}

// reason is a reason of a condition or an event, and the folder of the package that has it.
type reason struct {
	name, folder string
}

// allReasons are the reasons in pkg.
func allReasons() []reason {
	GinkgoHelper()
	var (
		root    = landscape.Root()
		reasons []reason
	)
	Expect(filepath.WalkDir(filepath.Join(root, "pkg"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range reasonsIn(file) {
			reasons = append(reasons, reason{name, strings.TrimPrefix(filepath.Dir(path), root+"/")})
		}
		return nil
	})).To(Succeed())
	Expect(len(reasons)).To(BeNumerically(">", 40))
	return reasons
}

var _ = Describe("Reasons", func() {
	It("should be explained, each of a condition or an event", func() {
		var missing []string
		for _, reason := range allReasons() {
			if len(sections(reason.name)) == 0 {
				missing = append(missing, reason.folder+": "+reason.name)
			}
		}
		Expect(missing).To(BeEmpty())
	})
})
