// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type seedValidator struct {
	secrets client.Reader
}

// NewSeedValidator returns a validator of Seeds of the provider type and of Seeds with backups of it. Secrets are read from the API server.
func NewSeedValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &seedValidator{secrets: mgr.GetAPIReader()}
}

// Validate validates the configuration and the backup of a Seed, of an update only what changes. It warns of what is not where it may be
// expected.
func (v *seedValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	seed, old, err := typed[*gardencorev1beta1.Seed](newObj, oldObj)
	if err != nil || seed.DeletionTimestamp != nil {
		return err
	}
	before := &gardencorev1beta1.SeedSpec{}
	if old != nil {
		before = &old.Spec
	}
	return v.validate(ctx, &seed.Spec, before, specPath).ToAggregate()
}

// validate validates the specification of a Seed at the path. before is the former one, which may be empty.
func (v *seedValidator) validate(ctx context.Context, spec, before *gardencorev1beta1.SeedSpec, fldPath *field.Path) field.ErrorList {
	return append(validateSeedConfig(spec, before, fldPath.Child("provider", "providerConfig")),
		v.validateBackup(ctx, spec, before, fldPath.Child("backup"))...)
}

func validateSeedConfig(spec, before *gardencorev1beta1.SeedSpec, fldPath *field.Path) field.ErrorList {
	provider, old := &spec.Provider, &before.Provider
	if provider.Type != v1alpha1.ProviderType ||
		sameJSON(provider.ProviderConfig, old.ProviderConfig) && equality.Semantic.DeepEqual(provider.Zones, old.Zones) {
		return nil
	}
	config, err := decode[v1alpha1.SeedConfig](provider.ProviderConfig)
	if err != nil {
		return field.ErrorList{field.Invalid(fldPath, "(hidden)", err.Error())}
	}
	return validation.ValidateSeedConfig(config, provider.Zones, fldPath)
}

func (v *seedValidator) validateBackup(ctx context.Context, spec, before *gardencorev1beta1.SeedSpec, fldPath *field.Path) field.ErrorList {
	backup, old := spec.Backup, ptr.Deref(before.Backup, gardencorev1beta1.Backup{})
	if backup == nil || backup.Provider != v1alpha1.ProviderType {
		return nil
	}
	sameCredentials := equality.Semantic.DeepEqual(backup.CredentialsRef, old.CredentialsRef)
	if sameCredentials && sameJSON(backup.ProviderConfig, old.ProviderConfig) {
		return nil
	}
	region := ptr.Deref(backup.Region, spec.Provider.Region)
	config, allErrs := validateBackupConfig(ctx, backup.ProviderConfig, old.ProviderConfig, region, fldPath.Child("providerConfig"))
	if len(allErrs) == 0 && !sameCredentials {
		allErrs = validateBackupCredentials(ctx, v.secrets, config.Store, backup.CredentialsRef, fldPath.Child("credentialsRef"))
	}
	return allErrs
}
