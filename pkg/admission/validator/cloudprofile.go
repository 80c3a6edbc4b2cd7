// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"slices"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type cloudProfileValidator struct {
	cache client.Reader
}

// NewCloudProfileValidator returns a validator of CloudProfiles. Shoots are read from the manager's cache.
func NewCloudProfileValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &cloudProfileValidator{cache: mgr.GetClient()}
}

// Validate validates a CloudProfile of type hybrid and refuses updates that remove what Shoots use. It warns of images that Gardener's
// maintenance would assign to pools on sites which do not have them, of addresses that control planes cannot reach, and of machines that
// are replaced.
func (v *cloudProfileValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	cloudProfile, old, err := typed[*gardencorev1beta1.CloudProfile](newObj, oldObj)
	if err != nil {
		return err
	}
	if cloudProfile.Spec.Type != v1alpha1.ProviderType || cloudProfile.DeletionTimestamp != nil || old != nil &&
		sameOffer(&old.Spec, &cloudProfile.Spec) {
		return nil
	}

	config, err := decode[v1alpha1.CloudProfileConfig](cloudProfile.Spec.ProviderConfig)
	if err != nil {
		return undecodable(err).ToAggregate()
	}
	allErrs := validation.ValidateCloudProfileConfig(config, &cloudProfile.Spec, profileConfigPath)
	var (
		oldConfig *v1alpha1.CloudProfileConfig
		uses      []validation.ProfileUse
	)
	if old != nil {
		// Nothing is compared with an old configuration that can no longer be decoded.
		if oldConfig, err = decode[v1alpha1.CloudProfileConfig](old.Spec.ProviderConfig); err == nil {
			if uses, err = usesOf(ctx, v.cache, cloudProfile.Name); err != nil {
				return err
			}
			allErrs = append(allErrs, validation.ValidateCloudProfileConfigUpdate(config, oldConfig, uses, profileConfigPath)...)
		}
	}
	allErrs = append(allErrs, validation.ValidateEncryption(config, oldConfig, profileConfigPath)...)
	if len(allErrs) == 0 {
		warn(ctx, func() []string {
			return slices.Concat(imagesMissingOnSites(config, &cloudProfile.Spec),
				validation.EndpointsInShoots(config, oldConfig, uses, profileConfigPath),
				validation.NodeSettingsInShoots(config, oldConfig, uses, profileConfigPath))
		})
	}
	return allErrs.ToAggregate()
}

// sameOffer reports whether two specifications are equal in the fields that are validated here.
func sameOffer(a, b *gardencorev1beta1.CloudProfileSpec) bool {
	return sameJSON(a.ProviderConfig, b.ProviderConfig) &&
		equality.Semantic.DeepEqual(a.Regions, b.Regions) &&
		equality.Semantic.DeepEqual(a.MachineTypes, b.MachineTypes) &&
		equality.Semantic.DeepEqual(a.VolumeTypes, b.VolumeTypes) &&
		equality.Semantic.DeepEqual(a.MachineImages, b.MachineImages) &&
		equality.Semantic.DeepEqual(a.MachineCapabilities, b.MachineCapabilities)
}
