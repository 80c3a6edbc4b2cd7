// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const mebibyte = 1 << 20

// memoryRow is a row of the table of Deployments: the name, and the memory that its containers request in MiB.
var memoryRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)`[^|]* \\| [^|]+ \\| (\\d+) \\|")

// requestedMemory returns the memory in MiB that the containers of each Deployment in golden files request.
func requestedMemory() map[string]int {
	GinkgoHelper()
	paths, err := filepath.Glob(filepath.Join(landscape.Root(), "pkg", "platform", "*", "controlplane", "testdata", "seed-controlplane*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	requested := map[string]int{}
	for _, path := range append(paths, filepath.Join(landscape.Root(), "pkg", "controller", "controlplane", "testdata", "seed.yaml")) {
		content, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
		for {
			deployment := &appsv1.Deployment{}
			if err = decoder.Decode(deployment); err != nil {
				break
			}
			if deployment.Kind != "Deployment" {
				continue
			}
			var sum int64
			for _, c := range deployment.Spec.Template.Spec.Containers {
				sum += c.Resources.Requests.Memory().Value()
			}
			requested[deployment.Name] = int(sum / mebibyte)
		}
		Expect(errors.Is(err, io.EOF)).To(BeTrue(), "%s: %v", path, err)
	}
	return requested
}

var _ = Describe("Capacity", func() {
	It("should name each Deployment of a shoot with the memory that it requests", func() {
		wanted := requestedMemory()
		Expect(len(wanted)).To(BeNumerically(">=", 6))
		wanted["machine-controller-manager"] = int(controlplane.DriverMemory.Value() / mebibyte)
		content, err := os.ReadFile(filepath.Join(landscape.Root(), "docs/operations/capacity.md"))
		Expect(err).NotTo(HaveOccurred())
		named := map[string]int{}
		for _, row := range memoryRow.FindAllStringSubmatch(string(content), -1) {
			named[row[1]], err = strconv.Atoi(row[2])
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(named).To(Equal(wanted))
	})
})
