// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Check", func() {
	var root string

	BeforeEach(func() {
		root = GinkgoT().TempDir()
		for name, content := range map[string]string{
			"go.mod":        "require (\n\texample.com/a v1.2.3\n)\n\nrequire (\n\texample.com/b v1.0.0 // indirect\n)\n",
			"hack/tools.mk": "TOOL_VERSION := v4.0.0\n\n\t$(call install-tool,tool,example.com/tool/v4/cmd/tool@$(TOOL_VERSION))\n",
			"imagevector/images.yaml": "images:\n- name: own\n  repository: own\n  tag: v1\n- name: some\n  repository: " +
				"registry.example.com/some\n  tag: \"1.36.1\"\n",
			"hack/site.sh":    "# renovate: drawings\nDRAWINGS_VERSION=\"1.2.3\"\n",
			"hack/oci/go.mod": "require (\n\texample.com/roots v0.5.0\n)\n",
			list: "# words\nexample.com/a v1.2.3 none\nexample.com/tool v4.0.0 none\nregistry.example.com/some 1.36.1 CVE-1 " +
				"does no harm\nexample.com/roots v0.5.0 none\ndrawings 1.2.3 none\n",
		} {
			path := filepath.Join(root, name)
			Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
			Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		}
	})
	edit := func(name, old, replacement string) {
		GinkgoHelper()
		path := filepath.Join(root, name)
		content, err := os.ReadFile(path) // #nosec G304 -- a file of the test
		Expect(err).NotTo(HaveOccurred())
		Expect(string(content)).To(ContainSubstring(old))
		Expect(os.WriteFile(path, []byte(strings.ReplaceAll(string(content), old, replacement)), 0o600)).To(Succeed()) // #nosec G703 -- as above
	}

	It("should be content with versions that somebody looked at", func() {
		Expect(Check(root)).To(BeEmpty())
	})

	DescribeTable("should name a version that nobody looked at, and the line that is too many",
		func(file, old, replacement, pin string) {
			edit(file, old, replacement)
			Expect(Check(root)).To(ConsistOf(ContainSubstring("%s has %s: look", file, pin), ContainSubstring("which is not pinned")))
		},
		Entry("of a module", "go.mod", "v1.2.3", "v1.2.4", "example.com/a v1.2.4"),
		Entry("of a tool", "hack/tools.mk", ":= v4.0.0", ":= v4.0.1", "example.com/tool v4.0.1"),
		Entry("of an image", "imagevector/images.yaml", "1.36.1", "1.37.0", "registry.example.com/some 1.37.0"),
		Entry("of an image by digest", "imagevector/images.yaml", `"1.36.1"`, "v1@sha256:abc", "registry.example.com/some v1@sha256:abc"),
		Entry("of what the site has", "hack/site.sh", "1.2.3", "1.2.4", "drawings 1.2.4"),
		Entry("of what is in images", "hack/oci/go.mod", "v0.5.0", "v0.6.0", "example.com/roots v0.6.0"),
	)

	DescribeTable("should not be content with nothing",
		func(file, old, replacement, message string) {
			edit(file, old, replacement)
			_, err := Check(root)
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("found by a look", list, " CVE-1 does no harm", "", "is not a name, a version and what was found"),
		Entry("that is pinned", "hack/oci/go.mod", "\t", " ", "nothing is pinned in hack/oci/go.mod"),
		Entry("said about a version", "hack/tools.mk", "TOOL_VERSION :=", "OTHER :=", "does not say what TOOL_VERSION is"),
	)

	It("should be content with the project", func() {
		Expect(Check(filepath.Join("..", ".."))).To(BeEmpty())
	})
})
