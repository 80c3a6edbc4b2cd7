// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// updateGolden makes specs write the files that they compare with.
const updateGolden = "UPDATE_GOLDEN"

// expectGolden compares the text with a file in testdata.
func expectGolden(name, text string) {
	GinkgoHelper()
	path := filepath.Join("testdata", name)
	if os.Getenv(updateGolden) != "" {
		Expect(os.MkdirAll("testdata", 0o750)).To(Succeed())
		Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	expected, err := os.ReadFile(path) // #nosec G304 -- a file of the test
	Expect(err).NotTo(HaveOccurred())
	Expect(text).To(Equal(string(expected)), "set %s=1 to update %s", updateGolden, path)
}

var _ = Describe("Output", func() {
	report := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "report"},
		Data:       map[string]string{"cloud": "reachable"},
	}
	write := func(s *screen) {
		s.line(0, cell{"Shoot", heading}, cell{text: "hybrid"})
		t := &table{columns: []string{"SITE", "STATE", "+MESSAGE"}}
		t.add(cell{text: "cloud"}, cell{"reachable", good}, cell{text: "The site has answered."})
		t.add(cell{text: "größe"}, cell{"unreachable", bad}, cell{text: "no\nroute\x1b[2J to\u202e host"})
		t.add(cell{text: "racks"}, cell{})
		s.table(t)
		s.table(&table{columns: []string{"POOL"}})
	}

	DescribeTable("should print reports",
		func(format, golden string) {
			var out bytes.Buffer
			o := &output{out: &out, format: format}
			Expect(o.print(report, write)).To(Succeed())
			expectGolden(golden, out.String())
		},
		Entry("as a table", formatTable, "output.txt"),
		Entry("as a wide table", formatWide, "output-wide.txt"),
		Entry("as JSON", formatJSON, "output.json"),
		Entry("as YAML", formatYAML, "output.yaml"),
	)

	It("should have colors that do not change columns", func() {
		colored, uncolored := &screen{colors: true}, &screen{}
		write(colored)
		write(uncolored)
		Expect(colored.String()).To(ContainSubstring("\x1b[31munreachable\x1b[0m"))
		text := colored.String()
		for _, s := range []style{heading, faint, bad, good, unsure} {
			text = strings.ReplaceAll(text, "\x1b["+string(s)+"m", "")
		}
		Expect(strings.ReplaceAll(text, "\x1b[0m", "")).To(Equal(uncolored.String()))
	})

	It("should have no colors where it is not read, unless they are forced", func() {
		Expect((&output{out: &bytes.Buffer{}}).screen().colors).To(BeFalse())
		GinkgoT().Setenv("CLICOLOR_FORCE", "1")
		Expect((&output{out: &bytes.Buffer{}}).screen().colors).To(BeTrue())
		GinkgoT().Setenv("NO_COLOR", "1")
		Expect((&output{out: &bytes.Buffer{}}).screen().colors).To(BeFalse())
		GinkgoT().Setenv("CLICOLOR_FORCE", "")
		GinkgoT().Setenv("NO_COLOR", "")
		file, err := os.Open(os.DevNull)
		Expect(err).NotTo(HaveOccurred())
		defer file.Close()
		Expect((&output{out: file}).screen().colors).To(BeFalse())
	})
})
