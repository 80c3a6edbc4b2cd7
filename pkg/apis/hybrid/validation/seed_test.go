// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var _ = Describe("SeedConfig", func() {
	const none = field.ErrorType("")
	valid := v1alpha1.EtcdVolume{Zones: []string{"a", "b"}, Roles: []v1alpha1.EtcdRole{v1alpha1.EtcdRoleMain}, StorageClassName: "fast",
		Capacity: new(resource.MustParse("20Gi"))}

	DescribeTable("volumes of etcds",
		func(change func(*v1alpha1.EtcdVolume), errorType field.ErrorType, fieldPath string) {
			volume := *valid.DeepCopy()
			change(&volume)
			config := &v1alpha1.SeedConfig{EtcdVolumes: []v1alpha1.EtcdVolume{valid, volume}}
			errs := ValidateSeedConfig(config, []string{"a", "b"}, field.NewPath("config"))
			if errorType == "" {
				Expect(errs).To(BeEmpty())
				return
			}
			Expect(errs).To(ConsistOf(And(HaveField("Type", errorType), HaveField("Field", "config.etcdVolumes[1]"+fieldPath))))
		},
		Entry("are valid", func(*v1alpha1.EtcdVolume) {}, none, ""),
		Entry("are valid with the capacity alone", func(v *v1alpha1.EtcdVolume) { *v = v1alpha1.EtcdVolume{Capacity: v.Capacity} },
			none, ""),
		Entry("change nothing", func(v *v1alpha1.EtcdVolume) { v.StorageClassName, v.Capacity = "", nil }, field.ErrorTypeRequired, ""),
		Entry("have a class that cannot exist", func(v *v1alpha1.EtcdVolume) { v.StorageClassName = "A B" }, field.ErrorTypeInvalid,
			".storageClassName"),
		Entry("have no size", func(v *v1alpha1.EtcdVolume) { v.Capacity = new(resource.MustParse("0")) }, field.ErrorTypeInvalid, ".capacity"),
		Entry("are in a zone that the Seed does not have", func(v *v1alpha1.EtcdVolume) { v.Zones[1] = "c" }, field.ErrorTypeNotSupported,
			".zones[1]"),
		Entry("are in a zone twice", func(v *v1alpha1.EtcdVolume) { v.Zones[1] = "a" }, field.ErrorTypeDuplicate, ".zones[1]"),
		Entry("have an unknown role", func(v *v1alpha1.EtcdVolume) { v.Roles[0] = "other" }, field.ErrorTypeNotSupported, ".roles[0]"),
	)

	It("should limit their number, and need none", func() {
		Expect(ValidateSeedConfig(nil, nil, nil)).To(BeEmpty())
		Expect(ValidateSeedConfig(&v1alpha1.SeedConfig{EtcdVolumes: make([]v1alpha1.EtcdVolume, 101)}, nil, nil)).To(
			ConsistOf(HaveField("Type", field.ErrorTypeTooMany)))
	})
})
