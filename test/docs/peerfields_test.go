// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// fieldPath is a path of fields in a table.
var fieldPath = regexp.MustCompile("`([a-zA-Z0-9.\\[\\]]+)`")

var _ = Describe("Fields of provider-openstack", func() {
	DescribeTable("should be compared with fields that exist",
		func(section string, configuration any, rows int) {
			content, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "usage", "provider-openstack.md"))
			Expect(err).NotTo(HaveOccurred())
			_, table, found := strings.Cut(string(content), "## `"+section+"`\n")
			Expect(found).To(BeTrue())
			table, _, _ = strings.Cut(table, "\n## ")

			var seen int
			for line := range strings.Lines(table) {
				cells := strings.Split(line, " | ")
				if len(cells) != 2 || !strings.HasPrefix(line, "| `") {
					continue
				}
				seen++
				if strings.HasPrefix(cells[1], "none: ") {
					continue
				}
				paths := fieldPath.FindAllStringSubmatch(cells[1], -1)
				Expect(paths).NotTo(BeEmpty(), line)
				for _, path := range paths {
					if strings.Contains(path[1], ".") || strings.HasSuffix(path[1], "[]") {
						Expect(hasField(reflect.TypeOf(configuration), path[1])).To(BeTrue(), path[1])
					}
				}
			}
			Expect(seen).To(Equal(rows))
		},
		Entry("of CloudProfiles", "CloudProfileConfig", v1alpha1.CloudProfileConfig{}, 29),
		Entry("of infrastructures", "InfrastructureConfig", v1alpha1.InfrastructureConfig{}, 8),
		Entry("of control planes", "ControlPlaneConfig", v1alpha1.ControlPlaneConfig{}, 5),
		Entry("of pools", "WorkerConfig", v1alpha1.WorkerConfig{}, 4),
	)
})

// hasField reports whether the type has the path of JSON names, in which lists end with [].
func hasField(t reflect.Type, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		name, isList := strings.CutSuffix(name, "[]")
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		var next reflect.Type
		for i := range t.NumField() {
			if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
				next = t.Field(i).Type
			}
		}
		if next == nil || isList != (next.Kind() == reflect.Slice) {
			return false
		}
		if t = next; isList {
			t = t.Elem()
		}
	}
	return true
}
