// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// errorsPage is written with UPDATE_GOLDEN=1.
const errorsPage = "docs/operations/errors.md"

const errorsIntro = `# Errors

This page is generated from the code, with ` + "`UPDATE_GOLDEN=1 go test ./test/docs`" + `. [Troubleshooting](troubleshooting.md) begins
with symptoms instead.

## Errors of sites

Errors in ` + "`status.lastErrors`" + ` of a Shoot, and in the objects of its namespace in the seed, have a code of Gardener and the message
` + "`%s`" + `. The message in ` + "`status.lastOperation`" + ` of a machine begins with the class instead: ` + "`%s`" + `.

| class | code | meaning | remedy |
|---|---|---|---|
`

const errorsProgress = "\nA machine whose message begins with `%s` has no error: the operation continues.\n"

const reasonsIntro = `
## Reasons

Reasons of conditions and events, and the sections that explain them:

| reason | constant of | explained in |
|---|---|---|
`

// remedies tell what to do about errors of each class.
var remedies = map[platform.Class]string{
	platform.ClassUnauthenticated: "[rotate the credentials](credentials.md#rotation)",
	platform.ClassForbidden: "grant the [roles in OpenStack](openstack.md#roles), [privileges in vSphere](vsphere.md#privileges), or " +
		"[permissions in the inventory](metal.md#permissions)",
	platform.ClassQuota:         "raise the quota, or shrink pools; the message has the numbers",
	platform.ClassExhausted:     "wait, use another zone, or [burst](../usage/burst.md)",
	platform.ClassNotFound:      "create the object, or correct the field of the Shoot or CloudProfile in the message",
	platform.ClassConflict:      "remove the object in the message, or what uses it",
	platform.ClassConfiguration: "correct the field in the message; Gardener does not retry before",
	platform.ClassTransient:     "none; the operation is retried",
}

// classes are the classes of errors with their meanings, in the order of the sources.
func classes() (names []platform.Class, meanings map[platform.Class]string) {
	GinkgoHelper()
	path := filepath.Join(landscape.Root(), "pkg", "platform", "errors.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	Expect(err).NotTo(HaveOccurred())
	meanings = map[platform.Class]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil || fmt.Sprint(spec.Type) != "Class" {
			return true
		}
		class := platform.Class(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		_, meaning, found := strings.Cut(strings.Join(strings.Fields(spec.Doc.Text()), " "), " means that ")
		Expect(found).To(BeTrue(), "the comment of %s must tell what it means", spec.Names[0])
		names, meanings[class] = append(names, class), strings.TrimSuffix(meaning, ".")
		return true
	})
	return names, meanings
}

// errorRows are the rows of the classes.
func errorRows() string {
	GinkgoHelper()
	names, meanings := classes()
	Expect(names).To(ConsistOf(slices.Collect(maps.Keys(remedies))), "each class must have a remedy")
	var rows strings.Builder
	for _, class := range names {
		code := "none"
		if codes := errorcodes.Codes(platform.NewError(class, "…")); len(codes) > 0 {
			code = "`" + string(codes[0]) + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", class, code, meanings[class], remedies[class])
	}
	return rows.String()
}

// slug is the anchor of a heading.
func slug(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// section is a section of a page, with a link from the pages of operators.
type section struct {
	link, text string
}

// pages are the sections of the pages for operators and users, which are read once.
var pages = sync.OnceValue(func() []section {
	var found []section
	for _, folder := range []string{"operations", "usage"} {
		files, err := filepath.Glob(filepath.Join(landscape.Root(), "docs", folder, "*.md"))
		Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			if strings.HasSuffix(file, errorsPage) {
				continue
			}
			content, err := os.ReadFile(file) // #nosec G304 -- a file of the project
			Expect(err).NotTo(HaveOccurred())
			path := filepath.Base(file)
			if folder != "operations" {
				path = "../" + folder + "/" + path
			}
			parts := strings.Split(string(content), "\n#")
			title, _, _ := strings.Cut(strings.TrimPrefix(parts[0], "# "), "\n")
			for i, part := range parts {
				anchor := ""
				if i > 0 {
					heading, _, _ := strings.Cut(part, "\n")
					anchor = "#" + slug(strings.TrimSpace(strings.TrimLeft(heading, "#")))
				}
				found = append(found, section{"[" + title + "](" + path + anchor + ")", part})
			}
		}
	}
	return found
})

// sections are links to the sections with a reason.
func sections(reason string) []string {
	var found []string
	for _, s := range pages() {
		if strings.Contains(s.text, "`"+reason+"`") {
			found = append(found, s.link)
		}
	}
	return found
}

// reasonRows are the rows of the reasons.
func reasonRows() string {
	GinkgoHelper()
	packages := map[string][]string{}
	for _, reason := range allReasons() {
		if !slices.Contains(packages[reason.name], reason.folder) {
			packages[reason.name] = append(packages[reason.name], reason.folder)
		}
	}
	var rows strings.Builder
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		explained := sections(name)
		Expect(explained).NotTo(BeEmpty(), "no page explains %s", name)
		explained = explained[:min(3, len(explained))]
		fmt.Fprintf(&rows, "| `%s` | `%s` | %s |\n", name, strings.Join(packages[name], "`, `"), strings.Join(explained, ", "))
	}
	return rows.String()
}

var _ = Describe("Errors", func() {
	It("should be in the index, each class and each reason", func() {
		page := filepath.Join(landscape.Root(), errorsPage)
		err := platform.InSite("<site>", platform.NewError(platform.ClassQuota, "…"))
		ofMachine := fmt.Sprintf("%s: %v", platform.ClassOf(err), err)
		parsed := errorcodes.OfMachine("code = [ResourceExhausted] message = [" + ofMachine + "]")
		Expect(platform.ClassOf(parsed)).To(Equal(platform.ClassQuota))
		generated := fmt.Sprintf(errorsIntro, err, ofMachine) + errorRows() + fmt.Sprintf(errorsProgress, platform.Progress) +
			reasonsIntro + reasonRows()
		if os.Getenv("UPDATE_GOLDEN") == "1" {
			Expect(os.WriteFile(page, []byte(generated), 0o600)).To(Succeed())
		}
		content, readErr := os.ReadFile(page)
		Expect(readErr).NotTo(HaveOccurred())
		Expect(string(content)).To(Equal(generated), "run UPDATE_GOLDEN=1 go test ./test/docs")
	})
})
