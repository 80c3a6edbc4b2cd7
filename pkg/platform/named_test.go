// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// toy is the platform that only tests know.
const toy v1alpha1.Platform = "toy"

var (
	// foldersOfPlatforms are those of one platform alone, beside pkg/platform/<name>.
	foldersOfPlatforms = map[v1alpha1.Platform][]string{
		v1alpha1.PlatformOpenStack: {"pkg/backup/swift", "pkg/csi", "cmd/cinder-csi-plugin-hybrid", "cmd/manila-csi-plugin-hybrid"},
		v1alpha1.PlatformVSphere:   {"pkg/apis/hybrid/vspherecsi"},
		v1alpha1.PlatformMetal:     {"pkg/statichost"},
		toy:                        {"test/toyplatform"},
	}
	// filesOfAllPlatforms are those that a further platform changes, in addition to pkg/apis/hybrid/validation/<name>.go.
	filesOfAllPlatforms = map[string]string{
		"pkg/apis/hybrid/v1alpha1/types_*.go":   "the blocks of the platform",
		"pkg/apis/hybrid/v1alpha1/platforms.go": "the list of platforms",
		"pkg/apis/hybrid/v1alpha1/defaults.go":  "the defaults of the blocks",
		"pkg/apis/hybrid/validation/rules.go":   "the table of rules",
		"pkg/platform/registry/*/*.go":          "the registries",
	}
	// exceptions name one platform for a reason that no other platform has.
	exceptions = map[v1alpha1.Platform]map[string]string{
		v1alpha1.PlatformOpenStack: {
			"pkg/apis/hybrid/networkdata/check.go":         "Metal3 takes network data in the format of OpenStack",
			"pkg/apis/hybrid/networkdata/openstack.go":     "Metal3 takes network data in the format of OpenStack",
			"pkg/apis/hybrid/validation/dnscredentials.go": "Designate, a DNS service, signs in with the credentials of an OpenStack site",
			"pkg/controller/dnsrecord/access.go":           "Designate, a DNS service, signs in with the credentials of an OpenStack site",
		},
		v1alpha1.PlatformVSphere: {
			"imagevector/imagevector.go": "the upstream driver of vSphere has images of its own",
		},
		v1alpha1.PlatformMetal: {
			"pkg/apis/hybrid/networkdata/check.go": "only hosts get network data, whose format the inventory determines",
		},
	}
	// testsOfToys are the tests that name the toy platform, beside this one.
	testsOfToys = map[string]string{
		"pkg/admission/validator/toy_test.go":    "CloudProfiles with a site of the platform",
		"pkg/apis/hybrid/validation/toy_test.go": "the rules, and their line in the table",
		"pkg/controller/sitehealth/*_test.go":    "the line in the registry, and sites of the platform",
		"pkg/controller/worker/*_test.go":        "the line in the registry, and sites of the platform",
		"pkg/controller/workerplan/*_test.go":    "the line in the registry, and sites of the platform",
		"pkg/machine/*_test.go":                  "the line in the registry, and machine classes of the platform",
	}
)

var _ = Describe("Names of platforms", func() {
	It("are only where a further platform is added", func() {
		for _, platform := range v1alpha1.AllPlatforms() {
			allowed := maps.Clone(filesOfAllPlatforms)
			maps.Copy(allowed, exceptions[platform])
			allowed["pkg/apis/hybrid/validation/"+string(platform)+".go"] = "the rules"
			unexpected, unused := compare(filesThatName(platform, isProduct, string(platform), "pkg", "cmd", "charts", "imagevector"), allowed)
			Expect(unexpected).To(BeEmpty(), "files outside the folders of %s that name it", platform)
			Expect(unused).To(BeEmpty(), "files that do not name %s", platform)
		}
	})

	It("are only in its folder and in tests if only tests know the platform", func() {
		Expect(filesThatName(toy, isProduct, "toyplatform", "pkg", "cmd", "charts", "imagevector")).To(BeEmpty())
		unexpected, unused := compare(filesThatName(toy, isAny, "toyplatform", "pkg", "cmd", "charts", "imagevector", "test"), testsOfToys)
		Expect(unexpected).To(BeEmpty(), "files outside its folder that name it")
		Expect(unused).To(BeEmpty(), "files that do not name it")
	})

	It("have a rule of the linter that keeps other platforms from importing the platform", func() {
		config, err := os.ReadFile(filepath.Join("..", "..", ".golangci.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, platform := range append(v1alpha1.AllPlatforms(), toy) {
			Expect(string(config)).To(ContainSubstring("platform-" + string(platform) + ":"))
		}
	})
})

func isProduct(name string) bool { return !strings.HasSuffix(name, "_test.go") }

func isAny(string) bool { return true }

// compare returns the files that no pattern allows, and the patterns that allow no file.
func compare(files []string, allowed map[string]string) (unexpected, unused []string) {
	matches := func(pattern, file string) bool {
		ok, err := path.Match(pattern, file)
		Expect(err).NotTo(HaveOccurred())
		return ok
	}
	for _, file := range files {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(allowed)), func(pattern string) bool { return matches(pattern, file) }) {
			unexpected = append(unexpected, file)
		}
	}
	for pattern := range allowed {
		if !slices.ContainsFunc(files, func(file string) bool { return matches(pattern, file) }) {
			unused = append(unused, pattern)
		}
	}
	return unexpected, unused
}

// filesThatName returns the files below the roots that count and have an identifier or an import with the name of the platform. Generated
// files and the folders of the platform are left out.
func filesThatName(platform v1alpha1.Platform, counts func(file string) bool, name string, roots ...string) []string {
	GinkgoHelper()
	var (
		repository = filepath.Join("..", "..")
		own        = append([]string{"pkg/platform/" + string(platform)}, foldersOfPlatforms[platform]...)
		files      []string
	)
	for _, root := range roots {
		Expect(filepath.WalkDir(filepath.Join(repository, root), func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(repository, file)
			if err != nil {
				return err
			}
			relative = filepath.ToSlash(relative)
			switch {
			case entry.IsDir() && slices.Contains(own, relative):
				return filepath.SkipDir
			case entry.IsDir(), !strings.HasSuffix(relative, ".go"), !counts(relative), strings.HasPrefix(entry.Name(), "zz_generated."):
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err == nil && hasName(parsed, name) {
				files = append(files, relative)
			}
			return err
		})).To(Succeed())
	}
	return files
}

// hasName reports whether an identifier or an import contains the name. MetalLB is not bare metal.
func hasName(file *ast.File, name string) bool {
	found := false
	ast.Inspect(file, func(node ast.Node) bool {
		var text string
		switch n := node.(type) {
		case *ast.Ident:
			text = n.Name
		case *ast.ImportSpec:
			text = n.Path.Value
		}
		found = found || strings.Contains(strings.ReplaceAll(strings.ToLower(text), "metallb", ""), name)
		return !found
	})
	return found
}
