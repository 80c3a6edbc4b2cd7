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

// The binary runs once per shoot, so that everything in it counts many times.
var _ = Describe("Dependencies", func() {
	It("links what the driver needs and nothing else", func() {
		const module = "github.com/gardener/gardener-extension-provider-hybrid"

		output, err := exec.CommandContext(context.Background(), "go", "list", "-deps", ".").Output()
		Expect(err).NotTo(HaveOccurred())

		found := map[string]string{}
		for dependency := range strings.FieldsSeq(string(output)) {
			if reason := unwanted(module, dependency); reason != "" {
				found[dependency] = reason
			}
		}
		Expect(found).To(BeEmpty())
	})
})

func unwanted(module, dependency string) string {
	const (
		gardener          = "github.com/gardener/gardener/"
		controllerRuntime = "sigs.k8s.io/controller-runtime/pkg/"
	)

	if own, ok := strings.CutPrefix(dependency, module+"/"); ok {
		for _, allowed := range []string{"cmd/machine-controller-manager-provider-hybrid", "pkg/apis", "pkg/site", "pkg/machine", "pkg/userdata",
			"pkg/ignition", "pkg/platform/ipam", "pkg/platform/kubernetes", "pkg/platform/registry/driver", "pkg/platform/sessions",
			"pkg/platform/transport"} {
			if own == allowed || strings.HasPrefix(own, allowed+"/") {
				return ""
			}
		}
		if path := strings.Split(own, "/"); own == "pkg/platform" || len(path) == 4 && path[1] == "platform" {
			switch path[len(path)-1] {
			case "platform", "client", "machines", "owner", "floatingip":
				return ""
			// The inventories of bare-metal sites, and what they have in common.
			case "inventories", "inventory", "hosts", "ironcore", "metal3", "static", "bootdata":
				return ""
			}
		}
		return "it is for another binary"
	}
	switch {
	case strings.HasPrefix(dependency, gardener) && !strings.HasPrefix(dependency, gardener+"pkg/apis/"):
		return "only Gardener's API types may be"
	case strings.HasPrefix(dependency, "k8s.io/cloud-provider"):
		return "cloud controllers are another binary"
	case strings.HasPrefix(dependency, controllerRuntime):
		switch part, _, _ := strings.Cut(strings.TrimPrefix(dependency, controllerRuntime), "/"); part {
		case "cache", "client", "internal", "log", "scheme":
			return ""
		}
		return "the controllers are those of machine-controller-manager, only the access to inventories may be"
	default:
		return ""
	}
}
