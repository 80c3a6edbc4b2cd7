// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var profileConfigPath = specPath.Child("providerConfig")

type cloudProfileValidator struct {
	cache client.Reader
}

// NewCloudProfileValidator returns a validator of CloudProfiles. Shoots are read from the manager's cache.
func NewCloudProfileValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &cloudProfileValidator{cache: mgr.GetClient()}
}

// Validate validates a CloudProfile of type hybrid, and whether an update takes something away that Shoots use. It warns of images that
// Gardener's maintenance would give to pools on sites which do not have them.
func (v *cloudProfileValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	cloudProfile, ok := newObj.(*gardencorev1beta1.CloudProfile)
	if !ok {
		return fmt.Errorf("a CloudProfile was expected, it is a %T", newObj)
	}
	var old *gardencorev1beta1.CloudProfile
	if oldObj != nil {
		if old, ok = oldObj.(*gardencorev1beta1.CloudProfile); !ok {
			return fmt.Errorf("a CloudProfile was expected as the old object, it is a %T", oldObj)
		}
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
	var oldConfig *v1alpha1.CloudProfileConfig
	if old != nil {
		// An old configuration that cannot be decoded any more tells nothing about what Shoots use.
		if oldConfig, err = decode[v1alpha1.CloudProfileConfig](old.Spec.ProviderConfig); err == nil {
			uses, err := usesOf(ctx, v.cache, cloudProfile.Name)
			if err != nil {
				return err
			}
			allErrs = append(allErrs, validation.ValidateCloudProfileConfigUpdate(config, oldConfig, uses, profileConfigPath)...)
		}
	}
	allErrs = append(allErrs, validation.ValidateEncryption(config, oldConfig, profileConfigPath)...)
	if len(allErrs) == 0 {
		warn(ctx, func() []string { return imagesMissingOnSites(config, &cloudProfile.Spec) })
	}
	return allErrs.ToAggregate()
}

// sameOffer returns whether two specifications have the same of what the configuration is about.
func sameOffer(a, b *gardencorev1beta1.CloudProfileSpec) bool {
	return sameJSON(a.ProviderConfig, b.ProviderConfig) &&
		equality.Semantic.DeepEqual(a.Regions, b.Regions) &&
		equality.Semantic.DeepEqual(a.MachineTypes, b.MachineTypes) &&
		equality.Semantic.DeepEqual(a.VolumeTypes, b.VolumeTypes) &&
		equality.Semantic.DeepEqual(a.MachineImages, b.MachineImages) &&
		equality.Semantic.DeepEqual(a.MachineCapabilities, b.MachineCapabilities)
}

func undecodable(err error) field.ErrorList {
	return field.ErrorList{field.Invalid(profileConfigPath, "(hidden)", err.Error())}
}
