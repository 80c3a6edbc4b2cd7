// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Rewriting", func() {
	mounts := []mount{{"/csi", "/tmp/x/socket"}, {"/etc/config", "/tmp/x/config"}, {"/etc/config/sub", "/tmp/x/sub"}, {"/tmp", "/tmp/x/tmp"}}

	DescribeTable("paths of volumes",
		func(text, expected string) { Expect(rewritePaths(text, mounts)).To(Equal(expected)) },
		Entry("in a flag", "--config=/etc/config/a.yaml", "--config=/tmp/x/config/a.yaml"),
		Entry("alone", "/etc/config", "/tmp/x/config"),
		Entry("the longest", "/etc/config/sub/b", "/tmp/x/sub/b"),
		Entry("in a URL", "unix:///csi/csi.sock", "unix:///tmp/x/socket/csi.sock"),
		Entry("several, and none of what was written", "/csi:/tmp /csi", "/tmp/x/socket:/tmp/x/tmp /tmp/x/socket"),
		Entry("in a file", "ca: \"/etc/config/ca.crt\"\n", "ca: \"/tmp/x/config/ca.crt\"\n"),
		Entry("not the end of another path", "/var/tmp and host/csi", "/var/tmp and host/csi"),
		Entry("not the beginning of another name", "/csi-driver /tmp.old", "/csi-driver /tmp.old"),
	)

	DescribeTable("ports",
		func(text, expected string) { Expect(rewritePort(text, map[int32]int{8080: 40001})).To(Equal(expected)) },
		Entry("in a flag", "--port=8080", "--port=40001"),
		Entry("of all addresses", "--http-endpoint=:8080", "--http-endpoint=:40001"),
		Entry("of an address", "127.0.0.1:8080", "127.0.0.1:40001"),
		Entry("alone", "8080", "40001"),
		Entry("not others", "--port=8081", "--port=8081"),
		Entry("not a part of another number", "--max=18080", "--max=18080"),
		Entry("not a part of a name", "name-8080", "name-8080"),
		Entry("not numbers that are too large", "99999999999", "99999999999"),
	)
})

var _ = Describe("Folder", func() {
	It("should replace all files at the same time", func() {
		f := &folder{path: filepath.Join(GinkgoT().TempDir(), "volume")}
		read := func(name string) string {
			content, err := os.ReadFile(filepath.Join(f.path, name))
			if err != nil {
				return ""
			}
			return string(content)
		}
		Expect(f.write(map[string][]byte{"a": []byte("1"), "deep/er/b": []byte("1"), "gone": nil})).To(Succeed())
		Expect(read("a") + read("deep/er/b")).To(Equal("11"))
		first := f.version
		Expect(f.write(map[string][]byte{"a": []byte("1"), "deep/er/b": []byte("1"), "gone": {}})).To(Succeed())
		Expect(f.version).To(Equal(first), "nothing changed")

		Expect(f.write(map[string][]byte{"a": []byte("2"), "deep/er/b": []byte("2"), "new": []byte("2")})).To(Succeed())
		Expect(read("a") + read("deep/er/b") + read("new")).To(Equal("222"))
		Expect(filepath.Join(f.path, "gone")).NotTo(BeAnExistingFile())
		Expect(first).NotTo(BeADirectory())
	})
})
