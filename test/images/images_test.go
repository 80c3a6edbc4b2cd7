// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// author is the environment of Git for commits and tags.
var author = []string{"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test",
	"GIT_COMMITTER_EMAIL=test@example.com"}

// copySources copies what images are built from into a new folder.
func copySources() string {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "somewhere")
	for _, part := range []string{"charts", "cmd", "hack/oci", "hack/registration", "hack/tools.mk", "hack/release.sh", "imagevector", "pkg",
		"example", "CHANGELOG.md", "Makefile", "VERSION", "go.mod", "go.sum"} {
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
		Expect(os.WriteFile(to, content, info.Mode())).To(Succeed())
	}
	return dir
}

// run runs a command in a folder. If it is interrupted, nothing that it has started goes on.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- commands of the test
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	output, err := cmd.CombinedOutput()
	return string(output), err
}

var _ = Describe("Images", func() {
	It("should be there for each binary that runs in a cluster", func() {
		source, err := os.ReadFile(filepath.Join(landscape.Root(), "hack", "oci", "main.go"))
		Expect(err).NotTo(HaveOccurred())
		var images []string
		for _, match := range regexp.MustCompile(`(?m)^\t\{Name: "(\S+)",`).FindAllStringSubmatch(string(source), -1) {
			images = append(images, match[1])
		}
		binaries, err := os.ReadDir(filepath.Join(landscape.Root(), "cmd"))
		Expect(err).NotTo(HaveOccurred())
		var wanted []any
		for _, binary := range binaries {
			if binary.Name() != "hybridctl" { // It runs where its users are.
				wanted = append(wanted, binary.Name())
			}
		}
		Expect(images).To(ConsistOf(wanted...))
	})

	It("should be pushed to a registry and read from it", func(ctx SpecContext) {
		output, err := run(ctx, filepath.Join(landscape.Root(), "hack", "oci"), nil, "go", "test", "-vet=off", "./...")
		Expect(err).NotTo(HaveOccurred(), output)
	}, SpecTimeout(10*time.Minute))
})

var _ = suite.Nightly("Images that are built twice", func() {
	It("should have the same digests wherever, whenever, and by whomever they are built", func(ctx SpecContext) {
		var digests [2]string
		for i, env := range [][]string{
			{"REVISION=abc"},
			{"REVISION=abc", "TZ=Asia/Tokyo", "LANG=C", "USER=other", "GOCACHE=" + GinkgoT().TempDir()},
		} {
			dir := copySources()
			output, err := run(ctx, dir, env, "nice", "-n", "19", "make", "images") // other suites go first
			Expect(err).NotTo(HaveOccurred(), output)
			content, err := os.ReadFile(filepath.Join(dir, "hack", "bin", "oci", "digests.json"))
			Expect(err).NotTo(HaveOccurred())
			digests[i] = string(content)
		}
		Expect(digests[0]).To(ContainSubstring("sha256:"))
		Expect(digests[1]).To(Equal(digests[0]))
	}, SpecTimeout(80*time.Minute))
})

var _ = Describe("A release", func() {
	DescribeTable("should not be made",
		func(ctx SpecContext, message string, change func(dir string), env ...string) {
			dir := copySources()
			change(dir)
			output, err := run(ctx, dir, env, "hack/release.sh")
			Expect(err).To(HaveOccurred())
			Expect(output).To(Equal("No release: " + message + "\n"))
			Expect(filepath.Join(dir, "hack", "bin")).NotTo(BeADirectory())
		},
		Entry("for nowhere", "REGISTRY, the prefix of the names of images and charts, is not set.", func(string) {}),
		Entry("without a word", `CHANGELOG.md has no section "## v9.9.9".`, func(dir string) {
			Expect(os.WriteFile(filepath.Join(dir, "VERSION"), []byte("v9.9.9\n"), 0o600)).To(Succeed())
		}, "REGISTRY=127.0.0.1:1"),
		Entry("of a version in development", "VERSION is v0.1.0-dev; it must be a version such as v0.1.0.", func(dir string) {
			Expect(os.WriteFile(filepath.Join(dir, "VERSION"), []byte("v0.1.0-dev\n"), 0o600)).To(Succeed())
		}, "REGISTRY=127.0.0.1:1"),
	)

	suite.Nightly("that is published", func() {
		It("should be in its registry, tagged, and in files that name what is there", func(ctx SpecContext) {
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)),
				registry.WithBlobHandler(registry.NewDiskBlobHandler(GinkgoT().TempDir()))))
			DeferCleanup(server.Close)
			prefix := strings.TrimPrefix(server.URL, "http://") + "/hybrid"

			dir := copySources()
			content, err := os.ReadFile(filepath.Join(dir, "VERSION"))
			Expect(err).NotTo(HaveOccurred())
			development := strings.TrimSpace(string(content))
			version := strings.TrimSuffix(development, "-dev")
			Expect(os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("/hack/bin/\n"), 0o600)).To(Succeed())
			prepare := `set -o errexit
				grep --recursive --files-with-matches "$0" VERSION charts imagevector | xargs sed --in-place "s/$0/$1/"
				git init --quiet && git add . && git commit --quiet --message "Release $1"`
			output, err := run(ctx, dir, author, "sh", "-c", prepare, development, version)
			Expect(err).NotTo(HaveOccurred(), output)
			release := func() (string, error) {
				return run(ctx, dir, append(author, "REGISTRY="+prefix), "make", "-s", "release", "PLATFORMS=linux/"+runtime.GOARCH)
			}
			output, err = release()
			Expect(err).NotTo(HaveOccurred(), output)

			out := filepath.Join(dir, "hack", "bin", "release")
			content, err = os.ReadFile(filepath.Join(out, "oci", "digests.json"))
			Expect(err).NotTo(HaveOccurred())
			var digests struct{ Images, Charts map[string]string }
			Expect(json.Unmarshal(content, &digests)).To(Succeed())
			Expect(digests.Images).NotTo(BeEmpty())
			registration, err := os.ReadFile(filepath.Join(out, "controller-registration.yaml"))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(registration)).To(ContainSubstring(
				prefix + "/charts/gardener-extension-provider-hybrid:" + version + "@" + digests.Charts["gardener-extension-provider-hybrid"]))
			for folder, of := range map[string]map[string]string{"": digests.Images, "/charts": digests.Charts} {
				for artifact, digest := range of {
					// The name with the version is for people, the digest is what registrations have.
					for _, reference := range []string{artifact + ":" + version, artifact + "@" + digest} {
						parsed, err := name.ParseReference(prefix + folder + "/" + reference)
						Expect(err).NotTo(HaveOccurred())
						descriptor, err := remote.Get(parsed, remote.WithContext(ctx))
						Expect(err).NotTo(HaveOccurred(), reference)
						Expect(descriptor.Digest.String()).To(Equal(digest), reference)
					}
				}
			}
			output, err = run(ctx, out, nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
			Expect(err).NotTo(HaveOccurred(), output)
			Expect(output).To(And(ContainSubstring("extension.yaml: OK"), ContainSubstring("hybridctl-"+version+"-darwin-arm64.tar.gz: OK")))
			output, err = run(ctx, dir, nil, "git", "tag", "--list", "--points-at", "HEAD")
			Expect(err).NotTo(HaveOccurred())
			Expect(output).To(Equal(version + "\n"))

			output, err = release()
			Expect(err).To(HaveOccurred())
			Expect(output).To(ContainSubstring("No release: the tag " + version + " exists."))
		}, SpecTimeout(30*time.Minute))
	})
})
