// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Prose", func() {
	It("should find comments and messages of Go on their lines", func() {
		prose, err := ofGo([]byte(strings.Join([]string{
			`// SPDX-License-Identifier: Apache-2.0`,
			``,
			`package a`,
			`import "some folder/b"`,
			"type t struct { A int `json:\"a, b\"` } // A comment.",
			`//nolint:gosec // a reason`,
			`var err = errors.New("the site does not answer")`,
			`var name = "word"`,
			"var text = `one thing",
			"two`",
		}, "\n")))
		Expect(err).NotTo(HaveOccurred())
		Expect(prose).To(Equal([]string{"", "", "", "", "A comment. ", "", "the site does not answer. ", "", "one thing ", "two. "}))
	})

	It("should find comments of YAML on their lines", func() {
		Expect(ofYAML("# SPDX-License-Identifier: Apache-2.0\n# A comment.\na: b#c # another one\nd: e\n")).
			To(Equal([]string{"", "A comment.", "another one", "", ""}))
	})
})
