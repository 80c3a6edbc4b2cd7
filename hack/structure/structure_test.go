// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Structure", func() {
	// structure returns that of a package with the files.
	structure := func(files map[string]string) *Structure {
		GinkgoHelper()
		folder := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module house\n\ngo 1.26\n"), 0o600)).To(Succeed())
		for name, text := range files {
			Expect(os.WriteFile(filepath.Join(folder, name), []byte("package house\n\n"+text), 0o600)).To(Succeed())
		}
		packages, err := Load(folder, ".")
		Expect(err).NotTo(HaveOccurred())
		Expect(packages).To(HaveLen(1))
		return packages[0].Structure()
	}

	It("should have no back arrow if files use each other in one direction only", func() {
		s := structure(map[string]string{
			"roof.go":      `func Roof() int { return wall().height() + stone }`,
			"wall.go":      "type Wall struct{ stones [stone]int }\n\nfunc wall() *Wall { return nil }",
			"height.go":    `func (w *Wall) height() int { return len(w.stones) }`,
			"stone.go":     `const stone = 3`,
			"note.go":      `import "strings"` + "\n\nfunc init() { var stone strings.Builder; stone.Reset() }",
			"roof_test.go": `func test() { Roof() }`,
		})
		Expect(s.Back()).To(BeEmpty())
		Expect(s.Types).To(Equal([]Type{{Name: "Wall", Methods: 1, Files: 1}}))
		Expect(s.Arrows).To(Equal(Arrows{
			"roof.go": {"wall.go": true, "height.go": true, "stone.go": true}, "height.go": {"wall.go": true},
			"wall.go": {"stone.go": true}, "stone.go": {}, "note.go": {},
		}), "a variable or a method of another package is not the one of this package")
		Expect(s.Floors()).To(Equal(map[string]int{"height.go": 1, "wall.go": 2, "stone.go": 3}))
		Expect(s.Exceeds(1, 0)).To(BeEmpty())
	})

	It("should find the fewest arrows that run back up, and methods in several files", func() {
		s := structure(map[string]string{
			"a.go": "type T struct{}\n\nfunc (t T) A() { t.B(); t.C() }",
			"b.go": `func (t T) B() { t.C() }`,
			"c.go": "func (t T) C() { d() }",
			"d.go": "func d() {}\n\nfunc e() { T{}.A() }",
			"f.go": "var _ = e",
		})
		Expect(s.Types).To(Equal([]Type{{Name: "T", Methods: 3, Files: 3}}))
		Expect(s.Order[0]).To(Equal("f.go"))
		Expect(s.Back()).To(HaveExactElements("a.go -> b.go", "a.go -> c.go"))
		Expect(s.Exceeds(2, 1)).To(HaveExactElements(
			"type T has 3 methods, at most 2 are allowed",
			"2 arrows between files run back up, at most 1 are allowed: a.go -> b.go, a.go -> c.go"))
		Expect(s.Exceeds(-1, -1)).To(BeEmpty())
		Expect(s.String()).To(And(
			HavePrefix("house: 5 files, 4 floors, 8 arrows, 2 back\n  type T: 3 methods in 3 files\n"), HaveSuffix("  back: a.go -> c.go\n")))
	})
})
