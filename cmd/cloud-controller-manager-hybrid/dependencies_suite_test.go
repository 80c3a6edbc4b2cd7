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
	It("links what the cloud controllers need and nothing else", func() {
		const (
			module            = "github.com/gardener/gardener-extension-provider-hybrid/"
			controllerRuntime = "sigs.k8s.io/controller-runtime/pkg/"
		)

		output, err := exec.CommandContext(context.Background(), "go", "list", "-deps", ".").Output()
		Expect(err).NotTo(HaveOccurred())

		var found []string
		for dependency := range strings.FieldsSeq(string(output)) {
			own, ok := strings.CutPrefix(dependency, module)
			switch {
			case ok && strings.HasPrefix(own, "pkg/platform/"):
				switch path := strings.Split(own, "/"); path[len(path)-1] {
				case "client", "cloudcontrollers", "kubernetes", "nodes", "owner", "sessions", "transport":
				case "bootdata", "inventories", "inventory", "ipam", "hosts", "ironcore", "metal3", "static": // the inventories of bare-metal sites
				default:
					found = append(found, dependency)
				}
			case strings.HasPrefix(dependency, "github.com/gardener/gardener/extensions/"),
				strings.HasPrefix(dependency, "github.com/gardener/machine-controller-manager/"),
				// The inventory of a bare-metal site is a Kubernetes API. Only its client is needed, with its cache.
				strings.HasPrefix(dependency, controllerRuntime+"builder"),
				strings.HasPrefix(dependency, controllerRuntime+"manager"),
				strings.HasPrefix(dependency, controllerRuntime+"webhook"),
				strings.HasPrefix(dependency, "k8s.io/kubernetes/"):
				found = append(found, dependency)
			}
		}
		Expect(found).To(BeEmpty())
	})
})
