// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"cmp"
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type namespacedCloudProfileValidator struct {
	cache client.Reader
}

// NewNamespacedCloudProfileValidator returns a validator of NamespacedCloudProfiles. Their parents are read from the manager's cache.
func NewNamespacedCloudProfileValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &namespacedCloudProfileValidator{cache: mgr.GetClient()}
}

// Validate validates what a NamespacedCloudProfile adds to its parent of type hybrid.
func (v *namespacedCloudProfileValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	namespaced, old, err := typed[*gardencorev1beta1.NamespacedCloudProfile](newObj, oldObj)
	if err != nil {
		return err
	}
	if namespaced.DeletionTimestamp != nil || old != nil && sameAddition(&old.Spec, &namespaced.Spec) {
		return nil
	}

	parentRef, parentPath := namespaced.Spec.Parent, specPath.Child("parent")
	if parentRef.Kind != v1beta1constants.CloudProfileReferenceKindCloudProfile {
		return field.ErrorList{field.NotSupported(parentPath.Child("kind"), parentRef.Kind,
			[]string{v1beta1constants.CloudProfileReferenceKindCloudProfile})}.ToAggregate()
	}
	parent := &gardencorev1beta1.CloudProfile{}
	if err := v.cache.Get(ctx, client.ObjectKey{Name: parentRef.Name}, parent); err != nil {
		return fmt.Errorf("%s: %w", parentPath, err)
	}
	if parent.Spec.Type != v1alpha1.ProviderType {
		return nil
	}
	parentConfig, err := codec.Decode[v1alpha1.CloudProfileConfig](parent.Spec.ProviderConfig)
	if err != nil {
		return field.ErrorList{field.Invalid(parentPath.Child("name"), parentRef.Name,
			fmt.Sprintf("its configuration cannot be extended: %v", err))}.ToAggregate()
	}

	config, err := decode[v1alpha1.CloudProfileConfig](namespaced.Spec.ProviderConfig)
	if err != nil {
		return undecodable(err).ToAggregate()
	}
	var oldConfig *v1alpha1.CloudProfileConfig
	if old != nil {
		// Nothing is tolerated from an old configuration that can no longer be decoded.
		oldConfig, _ = decode[v1alpha1.CloudProfileConfig](old.Spec.ProviderConfig)
	}
	return validation.ValidateNamespacedCloudProfileConfig(validation.NamespacedProfile{
		Config:       cmp.Or(config, &v1alpha1.CloudProfileConfig{}),
		OldConfig:    oldConfig,
		Spec:         new(gardenerutils.TransformSpecToParentFormat(namespaced.Spec, parent.Spec.MachineCapabilities)),
		ParentConfig: parentConfig,
		ParentSpec:   &parent.Spec,
	}, profileConfigPath).ToAggregate()
}

// sameAddition reports whether two specifications are equal in the fields that are validated here.
func sameAddition(a, b *gardencorev1beta1.NamespacedCloudProfileSpec) bool {
	return a.Parent == b.Parent && sameJSON(a.ProviderConfig, b.ProviderConfig) &&
		equality.Semantic.DeepEqual(a.MachineTypes, b.MachineTypes) &&
		equality.Semantic.DeepEqual(a.VolumeTypes, b.VolumeTypes) &&
		equality.Semantic.DeepEqual(a.MachineImages, b.MachineImages)
}
