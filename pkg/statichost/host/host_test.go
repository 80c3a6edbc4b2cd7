// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A shell", func() {
	// run runs what a host runs for a user, with a program in the place of sudo.
	run := func(h *Host, sudo, input string) string {
		GinkgoHelper()
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "sudo"), []byte("#!/bin/sh\n"+sudo), 0o700)).To(Succeed()) // #nosec G306 -- it is run
		command, head := h.shell()
		cmd := exec.Command("/bin/sh", "-c", command) // #nosec G204 -- ours
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
		head.WriteString(input)
		cmd.Stdin = head
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	const (
		// withoutPassword is sudo that asks for none, and shows its arguments.
		withoutPassword = `echo "sudo $*"; while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"`
		// withPassword is sudo that reads a line, which it shows.
		withPassword = `case "$*" in *-n*) exit 1 ;; esac
IFS= read -r line; echo "asked: $line"; shift 4; exec "$@"`
	)

	It("should be that of root", func() {
		Expect(run(&Host{user: "root"}, "exit 1", "echo hello\n")).To(Equal("hello\n"))
	})

	It("should be that of a user whom sudo asks for nothing", func() {
		Expect(run(&Host{user: "admin"}, withoutPassword, "echo hello\n")).To(Equal("sudo -n /bin/sh -s\nhello\n"))
	})

	It("should be that of a user whom sudo asks for a password", func() {
		h := &Host{user: "admin", sudoPassword: "it's $(a) secret"}
		Expect(run(h, withPassword, "echo hello\n")).To(Equal("asked: it's $(a) secret\nhello\n"))
	})

	It("should not run the password if sudo does not ask for it", func() {
		h := &Host{user: "admin", sudoPassword: "echo leaked"}
		Expect(run(h, withoutPassword, "echo hello\n")).To(Equal("sudo -n /bin/sh -s\nhello\n"))
	})
})
