// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/documents"
)

// importedBy are the packages that sources in documents use, by their names.
var importedBy = map[string]string{
	"context":    "context",
	"control":    "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control",
	"countproxy": "github.com/gardener/gardener-extension-provider-hybrid/test/countproxy",
	"http":       "net/http",
	"metal":      "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal",
	"pods":       "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods",
	"shoot":      "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot",
	"time":       "time",
	"vcenter":    "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter",
}

// receivers are the types of variables that documents do not declare.
var receivers = map[string]string{"proxy": "*countproxy.Proxy", "server": "*vcenter.VCenter", "ctx": "context.Context", "dir": "string",
	"ccm": "string"}

// spaces are what sources may differ in.
var spaces = regexp.MustCompile(`\s+`)

// expectSource expects Go that is a part of the admission suite's tables, or that a compiler accepts in a function.
func expectSource(ctx SpecContext, b documents.Block) {
	GinkgoHelper()
	if strings.HasPrefix(b.Text, "DescribeTable(") {
		files, err := filepath.Glob(inProject("test", "integration", "admission", "*_test.go"))
		Expect(err).NotTo(HaveOccurred())
		var suite strings.Builder
		for _, file := range files {
			content, err := os.ReadFile(file) // #nosec G304 -- a file of the project
			Expect(err).NotTo(HaveOccurred())
			suite.WriteString(spaces.ReplaceAllString(string(content), " "))
		}
		for line := range strings.Lines(strings.TrimSuffix(b.Text, "))\n")) {
			Expect(suite.String()).To(ContainSubstring(strings.TrimSpace(line)), b.String())
		}
		return
	}

	var source strings.Builder
	var parameters []string
	for _, name := range slices.Sorted(maps.Keys(receivers)) {
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(b.Text) {
			parameters = append(parameters, name+" "+receivers[name])
		}
	}
	function := "\nfunc _(" + strings.Join(parameters, ", ") + ") {\n" + b.Text + "}\n"
	source.WriteString("package document\n\n")
	for _, name := range slices.Sorted(maps.Keys(importedBy)) {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(function) {
			source.WriteString("import " + name + " \"" + importedBy[name] + "\"\n")
		}
	}
	source.WriteString(function)
	_, err := parser.ParseFile(token.NewFileSet(), "", source.String(), parser.SkipObjectResolution)
	Expect(err).NotTo(HaveOccurred(), b.String())

	folder := GinkgoT().TempDir()
	file, overlay := filepath.Join(folder, "document.go"), filepath.Join(folder, "overlay.json")
	Expect(os.WriteFile(file, []byte(source.String()), 0o600)).To(Succeed())
	added := map[string]string{inProject("test", "examples", "document", "document.go"): file}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": added})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(overlay, replaced, 0o600)).To(Succeed())
	// #nosec G204 -- files of the spec
	build := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "-overlay", overlay, "./test/examples/document")
	build.Dir = inProject()
	output, _ := build.CombinedOutput() // what is left is wrong
	harmless := regexp.MustCompile(`(?m)^(# .*|.*: declared and not used: \w+|.*: no new variables on left side of :=)\n`)
	Expect(harmless.ReplaceAllString(string(output), "")).To(BeEmpty(), b.String())
}
