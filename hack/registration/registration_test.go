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

// sources writes files into a folder of their own and returns it.
func sources(files map[string]string) string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	for name, content := range files {
		Expect(write(filepath.Join(dir, name), []byte(content))).To(Succeed())
	}
	return dir
}

var _ = Describe("Registration", func() {
	It("should write the files in example", func() {
		dir := GinkgoT().TempDir()
		root := filepath.Join("..", "..")
		Expect(run(root, dir, filepath.Join(dir, "charts"), "registry.example.com", "")).To(Succeed())
		for _, name := range []string{"controller-registration.yaml", "extension.yaml"} {
			written, err := os.ReadFile(filepath.Join(dir, name))
			Expect(err).NotTo(HaveOccurred())
			current, err := os.ReadFile(filepath.Join(root, "example", name))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(written)).To(Equal(string(current)), "make generate writes "+name)
		}
		Expect(filepath.Glob(filepath.Join(dir, "charts", "*.tgz"))).To(HaveLen(4))
	})

	It("should name images and charts of a release by their digests", func() {
		dir := sources(map[string]string{"digests.json": `{
			"images": {"cinder-csi-plugin-hybrid": "sha256:12", "gardener-extension-provider-hybrid": "sha256:34"},
			"charts": {"gardener-extension-provider-hybrid": "sha256:56"}}`})
		Expect(run(filepath.Join("..", ".."), dir, "", "127.0.0.1:5000/hybrid/", filepath.Join(dir, "digests.json"))).To(Succeed())
		extension, err := os.ReadFile(filepath.Join(dir, "extension.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(extension)).To(And(
			MatchRegexp(`ref: 127\.0\.0\.1:5000/hybrid/charts/gardener-extension-provider-hybrid:v\S+@sha256:56\n`),
			MatchRegexp(`image: 127\.0\.0\.1:5000/hybrid/gardener-extension-provider-hybrid:v\S+@sha256:34\n`),
			MatchRegexp(`repository: 127\.0\.0\.1:5000/hybrid/cinder-csi-plugin-hybrid\n +tag: v\S+@sha256:12\n`),
			Not(ContainSubstring("registry.example.com")),
		))
		registration, err := os.ReadFile(filepath.Join(dir, "controller-registration.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(registration)).To(And(
			MatchRegexp(`ref: 127\.0\.0\.1:5000/hybrid/charts/gardener-extension-provider-hybrid:v\S+@sha256:56\n`),
			Not(ContainSubstring("rawChart")),
		))
	})

	DescribeTable("should refuse a chart",
		func(content, message string) {
			dir := sources(map[string]string{
				"VERSION": "v1.2.3\n",
				"charts/" + providerChart + "/Chart.yaml": content,
			})
			Expect(run(dir, "", "", "", "")).To(MatchError(ContainSubstring(message)))
		},
		Entry("of another version", "name: some\nversion: v1.2.4\n", "the chart some has version v1.2.4, but VERSION says v1.2.3"),
		Entry("without a name", "version: v1.2.3\n", "Chart.yaml needs a name and a version"),
		Entry("that is not YAML", "\t", "yaml"),
	)
})
