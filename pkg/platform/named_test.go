// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// A further platform changes the files that are listed here, and no others.
var (
	// foldersOfPlatforms are those of one platform alone, beside pkg/platform/<name>.
	foldersOfPlatforms = map[v1alpha1.Platform][]string{
		v1alpha1.PlatformOpenStack: {"pkg/csi/cinder", "cmd/cinder-csi-plugin-hybrid"},
		v1alpha1.PlatformVSphere:   {"pkg/apis/hybrid/vspherecsi"},
	}
	// filesOfAllPlatforms may name each platform: the API types with their methods, the table of rules, the
	// registries, and the names of images.
	filesOfAllPlatforms = []string{
		"pkg/apis/hybrid/v1alpha1/defaults.go",
		"pkg/apis/hybrid/v1alpha1/mtu.go",
		"pkg/apis/hybrid/v1alpha1/objects.go",
		"pkg/apis/hybrid/v1alpha1/platforms.go",
		"pkg/apis/hybrid/v1alpha1/types_*.go",
		"pkg/apis/hybrid/validation/rules.go",
		"pkg/platform/registry/*/*.go",
		"imagevector/imagevector.go",
	}
	// exceptions name one platform for a reason that no other platform has.
	exceptions = map[v1alpha1.Platform]map[string]string{
		v1alpha1.PlatformOpenStack: {
			"pkg/apis/hybrid/networkdata/check.go":         "Metal3 takes network data in the format of OpenStack",
			"pkg/apis/hybrid/networkdata/openstack.go":     "Metal3 takes network data in the format of OpenStack",
			"pkg/apis/hybrid/validation/dnscredentials.go": "Designate, a DNS service, signs in with the credentials of an OpenStack site",
			"pkg/controller/dnsrecord/access.go":           "Designate, a DNS service, signs in with the credentials of an OpenStack site",
		},
		v1alpha1.PlatformMetal: {
			"pkg/apis/hybrid/networkdata/check.go": "only hosts get network data, whose format the inventory determines",
		},
	}
)

var _ = Describe("Names of platforms", func() {
	It("are only where a further platform is added", func() {
		for _, platform := range v1alpha1.AllPlatforms() {
			allowed := slices.Concat(filesOfAllPlatforms, []string{"pkg/apis/hybrid/validation/" + string(platform) + ".go"})
			var unexpected []string
			unused := map[string]string{}
			for file, reason := range exceptions[platform] {
				unused[file] = reason
			}
			for _, file := range filesThatName(platform) {
				if _, ok := exceptions[platform][file]; ok {
					delete(unused, file)
					continue
				}
				if !slices.ContainsFunc(allowed, func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok }) {
					unexpected = append(unexpected, file)
				}
			}
			Expect(unexpected).To(BeEmpty(), "files outside the folders of %s that name it", platform)
			Expect(unused).To(BeEmpty(), "exceptions that %s does not need", platform)
		}
	})

	It("have a rule of the linter that keeps other platforms from importing the platform", func() {
		config, err := os.ReadFile(filepath.Join("..", "..", ".golangci.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, platform := range v1alpha1.AllPlatforms() {
			Expect(string(config)).To(ContainSubstring("platform-" + string(platform) + ":"))
		}
	})
})

// filesThatName returns the files with an identifier or an import that contains the name of the platform. Tests, generated files and the
// folders of the platform are left out.
func filesThatName(platform v1alpha1.Platform) []string {
	GinkgoHelper()
	var (
		repository = filepath.Join("..", "..")
		own        = append([]string{"pkg/platform/" + string(platform)}, foldersOfPlatforms[platform]...)
		files      []string
	)
	for _, root := range []string{"pkg", "cmd", "charts", "imagevector"} {
		Expect(filepath.WalkDir(filepath.Join(repository, root), func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(repository, file)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			switch {
			case entry.IsDir() && slices.Contains(own, name):
				return filepath.SkipDir
			case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"),
				strings.HasPrefix(entry.Name(), "zz_generated."):
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err == nil && hasName(parsed, platform) {
				files = append(files, name)
			}
			return err
		})).To(Succeed())
	}
	return files
}

// hasName reports whether an identifier or an import contains the name of the platform. MetalLB is not bare metal.
func hasName(file *ast.File, platform v1alpha1.Platform) bool {
	found := false
	ast.Inspect(file, func(node ast.Node) bool {
		var name string
		switch n := node.(type) {
		case *ast.Ident:
			name = n.Name
		case *ast.ImportSpec:
			name = n.Path.Value
		}
		found = found || strings.Contains(strings.ReplaceAll(strings.ToLower(name), "metallb", ""), string(platform))
		return !found
	})
	return found
}
