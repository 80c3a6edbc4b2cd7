// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
	containermemory "github.com/gardener/gardener-extension-provider-hybrid/test/memory"
)

var _ = Describe("Memory of the control plane", func() {
	requests := []Record{requestOf("a", "x", 64*containermemory.MiB), requestOf("a", "y", 16*containermemory.MiB)}

	DescribeTable("should be the sum of what all containers request", func(values []float64, match OmegaMatcher) {
		records := slices.Clone(requests)
		for _, value := range values {
			records = append(records, sample("a/x", quantityAnonymous, value))
		}
		sum, err := memoryRequests(records)
		Expect(err).To(match)
		if err == nil {
			Expect(sum).To(Equal(80.0))
		}
	},
		Entry("where one requests enough", []float64{1, 64, 3}, BeNil()),
		Entry("where one of twenty samples is above", append(slices.Repeat([]float64{60}, 19), 99), BeNil()),
		Entry("where more are above", append(slices.Repeat([]float64{60}, 17), 99, 99),
			MatchError(ContainSubstring("a/x requests 64 MiB and has 99.0"))),
		Entry("where nothing was measured", nil, MatchError(ContainSubstring("the memory of 0"))),
	)

	It("should tell what was not measured", func() {
		Expect(missing(requests, map[string][]containermemory.Usage{"a/x": {{}}})).To(Equal([]string{"a/y"}))
	})

	It("should tell which nodes wait", func() {
		there, waiting := uninitialized([]corev1.Node{*joining{}.object("a"), {}})
		Expect([]int{there, waiting}).To(Equal([]int{2, 1}))
	})

	It("should run our own executables before those of others", func() {
		own := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(own, cloudControllerManager), nil, 0o600)).To(Succeed())
		Expect(programs(own, "others")).To(ContainElements(
			pods.Program{Deployment: "cloud-controller-manager", Container: cloudControllerManager,
				Path: filepath.Join(own, cloudControllerManager)},
			pods.Program{Deployment: "csi-cinder-controller", Container: "csi-resizer", Path: filepath.Join("others", "csi-resizer")},
		))
	})
})
