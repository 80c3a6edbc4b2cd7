// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// run runs the command with the arguments, and returns what it wrote and its exit code.
func run(arguments ...string) (out, errors string, code int) {
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), arguments, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return stdout.String(), stderr.String(), code
}

var _ = Describe("Command", func() {
	It("should show its commands", func() {
		out, errors, code := run("/usr/local/bin/hybridctl")
		Expect(code).To(Equal(0))
		Expect(errors).To(BeEmpty())
		Expect(out).To(And(ContainSubstring("hybridctl [command]"), ContainSubstring("completion"), ContainSubstring("version")))
	})

	It("should be a plugin of kubectl", func() {
		out, _, code := run("/usr/local/bin/kubectl-hybrid", "version", "--help")
		Expect(code).To(Equal(0))
		Expect(out).To(ContainSubstring("kubectl hybrid version"))
		Expect(out).NotTo(ContainSubstring("hybridctl version"))
	})

	It("should print its version", func() {
		out, _, code := run("hybridctl", "version")
		Expect(code).To(Equal(0))
		Expect(out).To(MatchRegexp(`^hybridctl v\S+ \(commit \S+, go\S+, \S+\)\n$`))
	})

	It("should complete shells", func() {
		out, _, code := run("hybridctl", "completion", "bash")
		Expect(code).To(Equal(0))
		Expect(out).To(ContainSubstring("__start_hybridctl"))
	})

	It("should tell errors once, with another exit code than findings", func() {
		out, errors, code := run("hybridctl", "prefligth")
		Expect(code).To(Equal(2))
		Expect(out).To(BeEmpty())
		Expect(errors).To(Equal("error: unknown command \"prefligth\" for \"hybridctl\"\n"))
	})
})
