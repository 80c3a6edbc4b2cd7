// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// image is a machine image with versions that are found by the given ID on site a.
func image(name string, versions ...[2]string) v1alpha1.MachineImage {
	result := v1alpha1.MachineImage{Name: name}
	for _, version := range versions {
		result.Versions = append(result.Versions, v1alpha1.MachineImageVersion{
			Version: version[0],
			CapabilityFlavors: []v1alpha1.MachineImageFlavor{{Sites: []v1alpha1.SiteMachineImage{{
				Name:      "a",
				UserData:  &v1alpha1.UserData{Format: v1alpha1.UserDataFormatCloudInit},
				OpenStack: &v1alpha1.OpenStackImage{ImageID: version[1]},
			}}}},
		})
	}
	return result
}

func machineType(name, flavor string) v1alpha1.MachineType {
	return v1alpha1.MachineType{Name: name,
		Sites: []v1alpha1.SiteMachineType{{Name: "a", OpenStack: &v1alpha1.OpenStackMachineType{Flavor: flavor}}}}
}

func volumeType(name, class string) v1alpha1.VolumeType {
	return v1alpha1.VolumeType{Name: name,
		Sites: []v1alpha1.SiteVolumeType{{Name: "a", OpenStack: &v1alpha1.OpenStackVolumeType{Type: class}}}}
}

func encoded(config *v1alpha1.CloudProfileConfig) *runtime.RawExtension {
	GinkgoHelper()
	raw, err := codec.Encode(config)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

var _ = Describe("NamespacedCloudProfiles", func() {
	var (
		ctx     = context.Background()
		parent  *v1alpha1.CloudProfileConfig
		own     *v1alpha1.CloudProfileConfig
		profile *gardencorev1beta1.NamespacedCloudProfile
	)

	BeforeEach(func() {
		parent = &v1alpha1.CloudProfileConfig{
			Sites: []v1alpha1.CloudProfileSite{{Name: "a", Region: "west",
				RequestTimeout: &metav1.Duration{Duration: v1alpha1.DefaultRequestTimeout}}},
			MachineImages: []v1alpha1.MachineImage{image("linux", [2]string{"2.0.0", "id-2"}, [2]string{"1.0.0", "id-1"})},
			MachineTypes:  []v1alpha1.MachineType{machineType("small", "m1.small")},
			VolumeTypes:   []v1alpha1.VolumeType{volumeType("fast", "ssd")},
		}
		own = &v1alpha1.CloudProfileConfig{
			MachineImages: []v1alpha1.MachineImage{image("linux", [2]string{"1.5.0", "id-own"}, [2]string{"2.0.0", "id-2-own"}),
				image("bsd", [2]string{"9.0.0", "id-9"})},
			MachineTypes: []v1alpha1.MachineType{machineType("tiny", "m1.tiny"), machineType("large", "m1.large")},
			VolumeTypes:  []v1alpha1.VolumeType{volumeType("cheap", "hdd"), volumeType("fast", "nvme")},
		}
		profile = &gardencorev1beta1.NamespacedCloudProfile{}
		profile.Generation, profile.Status.ObservedGeneration = 1, 1
		profile.Status.CloudProfileSpec.Type = v1alpha1.ProviderType
	})

	mutate := func() error {
		if profile.Spec.ProviderConfig == nil {
			profile.Spec.ProviderConfig = encoded(own)
		}
		if profile.Status.CloudProfileSpec.ProviderConfig == nil {
			profile.Status.CloudProfileSpec.ProviderConfig = encoded(parent)
		}
		return mutator.NewNamespacedCloudProfileMutator().Mutate(ctx, profile, nil)
	}

	It("should merge images, machine types and volume types, sorted", func() {
		Expect(mutate()).To(Succeed())
		merged, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Status.CloudProfileSpec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		v1alpha1.SetCloudProfileConfigDefaults(parent)
		Expect(merged.Sites).To(Equal(parent.Sites))
		Expect(merged.MachineImages).To(Equal([]v1alpha1.MachineImage{
			image("bsd", [2]string{"9.0.0", "id-9"}),
			image("linux", [2]string{"1.0.0", "id-1"}, [2]string{"1.5.0", "id-own"}, [2]string{"2.0.0", "id-2-own"}),
		}))
		Expect(merged.MachineTypes).To(Equal([]v1alpha1.MachineType{machineType("large", "m1.large"), machineType("small", "m1.small"),
			machineType("tiny", "m1.tiny")}))
		Expect(merged.VolumeTypes).To(Equal([]v1alpha1.VolumeType{volumeType("cheap", "hdd"), volumeType("fast", "nvme")}))

		once := profile.DeepCopy()
		Expect(mutate()).To(Succeed())
		Expect(profile).To(Equal(once))
	})

	DescribeTable("which are left alone", func(change func()) {
		profile.Spec.ProviderConfig, profile.Status.CloudProfileSpec.ProviderConfig = encoded(own), encoded(parent)
		change()
		before := profile.DeepCopy()
		Expect(mutator.NewNamespacedCloudProfileMutator().Mutate(ctx, profile, nil)).To(Succeed())
		Expect(profile).To(Equal(before))
	},
		Entry("being deleted", func() { profile.DeletionTimestamp = new(metav1.Now()) }),
		Entry("not merged yet", func() { profile.Generation = 2 }),
		Entry("of another type", func() { profile.Status.CloudProfileSpec.Type = "local" }),
		Entry("without a configuration", func() { profile.Spec.ProviderConfig = nil }),
		Entry("whose parent has no configuration", func() { profile.Status.CloudProfileSpec.ProviderConfig = nil }),
	)

	DescribeTable("mistakes", func(change func(), expected string) {
		change()
		Expect(mutate()).To(MatchError(HavePrefix(expected)))
	},
		Entry("in the own configuration", func() { profile.Spec.ProviderConfig = raw("CloudProfileConfig", `"x":1`) },
			"spec.providerConfig: decoding CloudProfileConfig"),
		Entry("in that of the parent", func() {
			profile.Status.CloudProfileSpec.ProviderConfig = raw("CloudProfileConfig", `"x":1`)
		}, "status.cloudProfileSpec.providerConfig: decoding CloudProfileConfig"),
	)

	It("should not mutate other objects", func() {
		Expect(mutator.NewNamespacedCloudProfileMutator().Mutate(ctx, &gardencorev1beta1.Seed{},
			nil)).To(MatchError(ContainSubstring("*v1beta1.Seed")))
	})
})
