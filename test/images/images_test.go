// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// stages of the Dockerfile that are images: name and image that they are made from.
func stages() map[string]string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "Dockerfile"))
	Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^FROM (\S+) AS (\S+)$`).FindAllStringSubmatch(string(content), -1) {
		found[match[2]] = match[1]
	}
	return found
}

// withTools runs hack/images.sh where no other builders than these are found, and returns what it printed and what they were asked for.
func withTools(scripts map[string]string, env ...string) (output, calls string, err error) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	for _, tool := range []string{"bash", "env", "dirname", "git", "sed"} {
		path, err := exec.LookPath(tool)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Symlink(path, filepath.Join(dir, tool))).To(Succeed())
	}
	for name, script := range scripts {
		content := "#!/usr/bin/env bash\n" + script + "\necho \"" + name + " $*\" >>" + filepath.Join(dir, "calls") + "\n"
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700)).To(Succeed()) // #nosec G306 -- it is run
	}
	cmd := exec.Command(filepath.Join(landscape.Root(), "hack", "images.sh")) // #nosec G204 -- a script of the sources
	cmd.Env = append([]string{"PATH=" + dir, "HOME=" + dir, "REVISION=abc"}, env...)
	out, err := cmd.CombinedOutput()
	asked, readErr := os.ReadFile(filepath.Join(dir, "calls"))
	if !os.IsNotExist(readErr) {
		Expect(readErr).NotTo(HaveOccurred())
	}
	return string(out), string(asked), err
}

var _ = Describe("Images", func() {
	It("should be there for each binary, without a shell where none is needed", func() {
		images := stages()
		binaries, err := os.ReadDir(filepath.Join(landscape.Root(), "cmd"))
		Expect(err).NotTo(HaveOccurred())
		for _, binary := range binaries {
			if binary.Name() != "hybridctl" { // It runs where its users are.
				Expect(images).To(HaveKey(binary.Name()))
			}
		}
		for name, base := range images {
			if name != "cinder-csi-plugin-hybrid" {
				Expect(base).To(MatchRegexp(`^gcr\.io/distroless/static-\w+:nonroot$`), name)
			}
		}
	})

	const broken, works = `exit 1`, ``

	It("should be built by the first builder that works", func() {
		output, calls, err := withTools(map[string]string{"docker": broken, "podman": works}, "REGISTRY=registry.example.com/hybrid/")
		Expect(err).NotTo(HaveOccurred(), output)
		for name := range stages() {
			Expect(calls).To(MatchRegexp(`podman build --target %s --build-arg REVISION=abc --timestamp \d+ `+
				`--tag registry\.example\.com/hybrid/%s:v\S+ \.`, name, name))
		}
		Expect(calls).NotTo(ContainSubstring("push"))
	})

	It("should be pushed for all platforms", func() {
		output, calls, err := withTools(map[string]string{"docker": works}, "REGISTRY=registry.example.com", "PUSH=1")
		Expect(err).NotTo(HaveOccurred(), output)
		for name := range stages() {
			Expect(calls).To(MatchRegexp(`docker buildx build --target %s .*--platform linux/amd64,linux/arm64 .*`+
				`name=registry\.example\.com/%s:v\S+,push=true`, name, name))
		}
	})

	DescribeTable("should not be built",
		func(message string, scripts map[string]string, env ...string) {
			output, calls, err := withTools(scripts, env...)
			Expect(err).To(HaveOccurred())
			Expect(output).To(ContainSubstring(message))
			Expect(strings.Contains(calls, "build")).To(BeFalse())
		},
		Entry("without a builder", "docker, podman or buildah; none of them works here", nil),
		Entry("with a client alone", "docker, podman or buildah; none of them works here", map[string]string{"docker": broken}),
		Entry("for nowhere", "PUSH needs REGISTRY", map[string]string{"docker": works}, "PUSH=1"),
	)
})
