// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// copySources copies what the binaries are built from into a new folder.
func copySources(dir string) {
	GinkgoHelper()
	for _, part := range []string{"charts", "cmd", "hack/tools.mk", "imagevector", "pkg", "Makefile", "VERSION", "go.mod", "go.sum"} {
		from, to := filepath.Join(landscape.Root(), part), filepath.Join(dir, part)
		info, err := os.Stat(from)
		Expect(err).NotTo(HaveOccurred())
		if info.IsDir() {
			Expect(os.CopyFS(to, os.DirFS(from))).To(Succeed())
			continue
		}
		content, err := os.ReadFile(from)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.MkdirAll(filepath.Dir(to), 0o700)).To(Succeed())
		Expect(os.WriteFile(to, content, 0o600)).To(Succeed())
	}
}

// build builds all binaries and returns the checksums of their bytes by their names. Other suites that run meanwhile go first.
func build(ctx context.Context, dir string, env ...string) map[string]string {
	GinkgoHelper()
	out := filepath.Join(dir, "out")
	cmd := exec.CommandContext(ctx, "nice", "-n", "19", "make", "build", "OUTPUT="+out, "REVISION=abc") // #nosec G204 -- constant arguments
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))

	binaries, err := os.ReadDir(out)
	Expect(err).NotTo(HaveOccurred())
	sums := map[string]string{}
	for _, binary := range binaries {
		sums[binary.Name()] = checksum(filepath.Join(out, binary.Name()))
	}
	Expect(os.RemoveAll(out)).To(Succeed())
	return sums
}

func checksum(path string) string {
	GinkgoHelper()
	file, err := os.Open(path) // #nosec G304 -- what was built
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	Expect(err).NotTo(HaveOccurred())
	return hex.EncodeToString(hash.Sum(nil))
}

var _ = Describe("Binaries", func() {
	It("should have the same bytes wherever, whenever and by whomever they are built", func(ctx SpecContext) {
		one, other := GinkgoT().TempDir(), filepath.Join(GinkgoT().TempDir(), "somewhere", "else")
		copySources(one)
		copySources(other)
		repository := exec.CommandContext(ctx, "git", "init", "--quiet", other) // #nosec G204 -- a folder of the test
		Expect(repository.Run()).To(Succeed())

		first := build(ctx, one)
		second := build(ctx, other, "TZ=Asia/Tokyo", "LANG=C", "USER=somebody", "GOMAXPROCS=1")
		Expect(slices.Sorted(maps.Keys(first))).To(Equal(slices.Sorted(maps.Keys(stages()))))
		Expect(second).To(Equal(first))
	}, SpecTimeout(35*time.Minute))
})
