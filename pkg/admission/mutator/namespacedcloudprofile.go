// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

type namespacedCloudProfile struct{}

// NewNamespacedCloudProfileMutator returns a mutator of the status of NamespacedCloudProfiles. Gardener writes the spec of the parent
// merged with that of the NamespacedCloudProfile to the status, but cannot merge the provider configurations.
func NewNamespacedCloudProfileMutator() extensionswebhook.Mutator {
	return &namespacedCloudProfile{}
}

// Mutate implements extensionswebhook.Mutator.
func (n *namespacedCloudProfile) Mutate(_ context.Context, newObject, _ client.Object) error {
	profile, ok := newObject.(*gardencorev1beta1.NamespacedCloudProfile)
	if !ok {
		return fmt.Errorf("expected a NamespacedCloudProfile, got %T", newObject)
	}
	merged := &profile.Status.CloudProfileSpec
	// Gardener must have merged the current spec.
	if profile.DeletionTimestamp != nil || profile.Generation != profile.Status.ObservedGeneration || merged.Type != v1alpha1.ProviderType ||
		profile.Spec.ProviderConfig == nil || merged.ProviderConfig == nil {
		return nil
	}

	own, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return fmt.Errorf("spec.providerConfig: %w", err)
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](merged.ProviderConfig)
	if err != nil {
		return fmt.Errorf("status.cloudProfileSpec.providerConfig: %w", err)
	}
	mergeConfig(config, own)
	raw, err := codec.Encode(config)
	if err != nil {
		return fmt.Errorf("status.cloudProfileSpec.providerConfig: %w", err)
	}
	merged.ProviderConfig = raw
	return nil
}

// mergeConfig adds the own machine images, machine types and volume types to the configuration. As in Gardener's part of the spec, own
// entries replace those of the same name. All are sorted.
func mergeConfig(config, own *v1alpha1.CloudProfileConfig) {
	config.MachineTypes = merge(config.MachineTypes, own.MachineTypes, func(t v1alpha1.MachineType) string { return t.Name }, nil)
	config.VolumeTypes = merge(config.VolumeTypes, own.VolumeTypes, func(t v1alpha1.VolumeType) string { return t.Name }, nil)
	config.MachineImages = merge(config.MachineImages, own.MachineImages, func(i v1alpha1.MachineImage) string { return i.Name },
		func(image, own v1alpha1.MachineImage) v1alpha1.MachineImage {
			image.Versions = merge(image.Versions, own.Versions, func(v v1alpha1.MachineImageVersion) string { return v.Version }, nil)
			return image
		})
}

// merge returns the entries of both lists, sorted by name. Entries of the same name are combined, or replaced by the own one if combine is
// nil.
func merge[T any](entries, own []T, name func(T) string, combine func(entry, own T) T) []T {
	result := slices.Clone(entries)
	for _, entry := range own {
		index := slices.IndexFunc(result, func(other T) bool { return name(other) == name(entry) })
		switch {
		case index < 0:
			result = append(result, entry)
		case combine != nil:
			result[index] = combine(result[index], entry)
		default:
			result[index] = entry
		}
	}
	slices.SortStableFunc(result, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	return result
}
