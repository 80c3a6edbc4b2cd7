// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// pinned is a row of the compatibility matrix whose version a go.mod file pins: the tested version, the file, and the module.
var pinned = regexp.MustCompile("(?m)^\\| [^|]+ \\| [^|]*\\b(v[0-9][^ |]*)[^|]* \\| `([^`]*go\\.mod)`: `(\\S+)` \\|")

var _ = Describe("Compatibility", func() {
	It("should name the versions that the tests run with", func() {
		root := landscape.Root()
		content, err := os.ReadFile(filepath.Join(root, "docs/operations/compatibility.md"))
		Expect(err).NotTo(HaveOccurred())
		rows := pinned.FindAllStringSubmatch(string(content), -1)
		Expect(len(rows)).To(BeNumerically(">=", 10))
		for _, row := range rows {
			module, err := os.ReadFile(filepath.Join(root, row[2]))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(module)).To(MatchRegexp(`(?m)^\s*(require )?`+regexp.QuoteMeta(row[3]+" "+row[1])+`( //.*)?$`), row[2])
		}
	})

	It("should name the release of OpenStack that is installed", func() {
		content, err := os.ReadFile(filepath.Join(landscape.Root(), "docs/operations/compatibility.md"))
		Expect(err).NotTo(HaveOccurred())
		version := regexp.MustCompile(`\| Zed \(Nova (\d+)\) \|`).FindStringSubmatch(string(content))
		Expect(version).To(HaveLen(2))
		install, err := os.ReadFile(filepath.Join(landscape.Root(), "hack/landscape/openstack/install.sh"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(install)).To(ContainSubstring(`[[ $nova == *:` + version[1] + `.* ]]`))
	})
})
