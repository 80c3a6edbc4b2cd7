// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package reproducible_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// copySources copies what the binaries are built from into a new folder.
func copySources(dir string) {
	GinkgoHelper()
	for _, part := range []string{"charts", "cmd", "hack/testtotals", "hack/tools.mk", "imagevector", "pkg", "Makefile", "VERSION", "go.mod",
		"go.sum"} {
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
	runMake(ctx, dir, out, "...", env...)
	binaries, err := os.ReadDir(out)
	Expect(err).NotTo(HaveOccurred())
	sums := map[string]string{}
	for _, binary := range binaries {
		path := filepath.Join(out, binary.Name())
		sums[binary.Name()] = checksum(path)
		expectNothingLocal(ctx, path, dir)
	}
	Expect(os.RemoveAll(out)).To(Succeed())
	return sums
}

// expectNothingLocal looks for what another machine has otherwise: settings of the compiler, and folders of the sources and of modules.
func expectNothingLocal(ctx context.Context, path, dir string) {
	GinkgoHelper()
	info, err := buildinfo.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	Expect(settings).To(And(HaveKeyWithValue("-trimpath", "true"), HaveKeyWithValue("CGO_ENABLED", "0")), path)
	Expect(slices.Collect(maps.Keys(settings))).NotTo(ContainElement(HavePrefix("vcs")), path)
	modules, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE").Output()
	Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(path) // #nosec G304 -- what was built
	Expect(err).NotTo(HaveOccurred())
	for _, local := range []string{dir, landscape.Root(), strings.TrimSpace(string(modules))} {
		Expect(bytes.Contains(content, []byte(local+"/"))).To(BeFalse(), "%s has %s", path, local)
	}
}

func runMake(ctx context.Context, dir, out, binary string, env ...string) {
	GinkgoHelper()
	args := []string{"-n", "19", "make", "build", "OUTPUT=" + out, "BINARY=" + binary, "REVISION=abc"}
	cmd := exec.CommandContext(ctx, "nice", args...) // #nosec G204 -- constant arguments
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
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
	// Both builds take compiled packages from one cache: this is about what is linked and stamped, and about paths.
	It("should have the same bytes wherever, whenever and by whomever they are built", func(ctx SpecContext) {
		one, other := GinkgoT().TempDir(), filepath.Join(GinkgoT().TempDir(), "somewhere", "else")
		copySources(one)
		copySources(other)
		repository := exec.CommandContext(ctx, "git", "init", "--quiet", other) // #nosec G204 -- a folder of the test
		Expect(repository.Run()).To(Succeed())

		first := build(ctx, one)
		second := build(ctx, other, "TZ=Asia/Tokyo", "LANG=C", "USER=somebody", "GOMAXPROCS=1")
		commands, err := os.ReadDir(filepath.Join(landscape.Root(), "cmd"))
		Expect(err).NotTo(HaveOccurred())
		Expect(first).To(HaveLen(len(commands)))
		Expect(second).To(Equal(first))
	}, SpecTimeout(35*time.Minute))

	// A small program stands for the others, as all of Kubernetes would be compiled twice for them.
	It("should have the same bytes if nothing was compiled before", func(ctx SpecContext) {
		sums := map[string]string{}
		for name, env := range map[string][]string{"one": nil,
			filepath.Join("somewhere", "else"): {"TZ=Asia/Tokyo", "LANG=C", "USER=somebody", "GOMAXPROCS=1"}} {
			dir := filepath.Join(GinkgoT().TempDir(), name)
			copySources(dir)
			out := filepath.Join(dir, "out")
			runMake(ctx, dir, out, "../hack/testtotals", append(env, "GOCACHE="+filepath.Join(dir, "cache"))...)
			sums[name] = checksum(filepath.Join(out, "testtotals"))
		}
		Expect(slices.Compact(slices.Sorted(maps.Values(sums)))).To(HaveLen(1), "%v", sums)
	}, SpecTimeout(15*time.Minute))
})
