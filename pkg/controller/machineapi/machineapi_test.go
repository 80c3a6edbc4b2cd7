// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineapi

import (
	"errors"
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// silent is an apiserver that does not answer.
type silent struct {
	meta.RESTMapper
}

func (silent) KindsFor(schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return nil, errors.New("apiserver is away")
}

var _ = Describe("The API of machines", func() {
	empty := meta.NewDefaultRESTMapper(nil)
	full := meta.NewDefaultRESTMapper([]schema.GroupVersion{machinev1alpha1.SchemeGroupVersion})
	full.Add(machinev1alpha1.SchemeGroupVersion.WithKind("Machine"), meta.RESTScopeNamespace)

	DescribeTable("should be watched where it is",
		func(selfHosted bool, mapper meta.RESTMapper, watchable bool) {
			Expect(IsWatchable(selfHosted, mapper)).To(Equal(watchable))
		},
		Entry("in a seed", false, full, true),
		Entry("in a seed, without looking", false, empty, true),
		Entry("in a self-hosted shoot", true, full, true),
		Entry("not in a self-hosted shoot without machines", true, empty, false),
	)

	It("should not be taken for missing while nobody answers", func() {
		_, err := IsWatchable(true, silent{})
		Expect(err).To(MatchError("discovering the API of machines: apiserver is away"))
	})

	It("should have no machines where it is missing", func() {
		_, missing := empty.RESTMapping(machinev1alpha1.SchemeGroupVersion.WithKind("Machine").GroupKind(), "v1alpha1")
		Expect(missing).To(HaveOccurred())
		Expect(IgnoreMissing(fmt.Errorf("failed to get informer: %w", missing))).To(Succeed())
		Expect(IgnoreMissing(errors.New("apiserver is away"))).To(MatchError("apiserver is away"))
		Expect(IgnoreMissing(nil)).To(Succeed())
	})
})
