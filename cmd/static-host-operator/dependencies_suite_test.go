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

// The binary has keys that are root on hosts.
var _ = Describe("Dependencies", func() {
	It("links what the operator needs and nothing else", func() {
		output, err := exec.CommandContext(context.Background(), "go", "list", "-deps", ".").Output()
		Expect(err).NotTo(HaveOccurred())

		found := map[string]string{}
		for dependency := range strings.FieldsSeq(string(output)) {
			if reason := unwanted(dependency); reason != "" {
				found[dependency] = reason
			}
		}
		Expect(found).To(BeEmpty())
	})
})

func unwanted(dependency string) string {
	const module = "github.com/gardener/gardener-extension-provider-hybrid/"

	if own, ok := strings.CutPrefix(dependency, module); ok {
		for _, allowed := range []string{"cmd/static-host-operator", "pkg/apis", "pkg/statichost"} {
			if own == allowed || strings.HasPrefix(own, allowed+"/") {
				return ""
			}
		}
		switch own {
		case "pkg/eventnote", "pkg/platform", "pkg/platform/kubernetes/owner", "pkg/site":
			return ""
		}
		return "it is for another binary"
	}
	for prefix, reason := range map[string]string{
		"github.com/gophercloud/":                  "the operator uses no cloud",
		"github.com/vmware/":                       "the operator uses no cloud",
		"github.com/gardener/machine-":             "machines are those of the driver",
		"github.com/gardener/gardener/extensions/": "the operator is no extension",
		"k8s.io/cloud-provider":                    "cloud controllers are another binary",
		"golang.org/x/crypto/ssh/agent":            "keys are those of Secrets alone",
	} {
		if strings.HasPrefix(dependency, prefix) {
			return reason
		}
	}
	return ""
}
