// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestDependencies(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Dependencies Suite")
}

// A request to the garden must never wait for a site, so that nothing is linked that could ask one.
var _ = Describe("Dependencies", func() {
	It("links nothing that asks sites", func() {
		output, err := exec.CommandContext(context.Background(), "go", "list", "-deps", ".").Output()
		Expect(err).NotTo(HaveOccurred())

		var found []string
		for dependency := range strings.FieldsSeq(string(output)) {
			if isUnwanted(dependency) {
				found = append(found, dependency)
			}
		}
		Expect(found).To(BeEmpty())
	})
})

func isUnwanted(dependency string) bool {
	const module = "github.com/gardener/gardener-extension-provider-hybrid/"

	if own, ok := strings.CutPrefix(dependency, module); ok {
		for _, allowed := range []string{"cmd/gardener-extension-admission-hybrid", "pkg/admission", "pkg/apis", "pkg/site"} {
			if own == allowed || strings.HasPrefix(own, allowed+"/") {
				return false
			}
		}
		return true
	}
	for _, client := range []string{
		"github.com/gophercloud/",
		"github.com/ironcore-dev/",
		"github.com/metal3-io/",
		"github.com/vmware/",
		"k8s.io/cloud-provider",
		"sigs.k8s.io/cluster-api",
	} {
		if strings.HasPrefix(dependency, client) {
			return true
		}
	}
	return false
}
