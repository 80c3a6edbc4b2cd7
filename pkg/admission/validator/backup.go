// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// validateBackupCredentials validates the data of the Secret that a Seed refers to. The answer does not depend on why it is not valid,
// because everyone who can reach the endpoint can ask about any Secret of the garden.
func validateBackupCredentials(ctx context.Context, secrets client.Reader, store v1alpha1.BackupStore, ref *corev1.ObjectReference,
	fldPath *field.Path) field.ErrorList {
	if ref == nil {
		return nil // Gardener requires it
	}
	if kind := corev1.SchemeGroupVersion.WithKind("Secret"); ref.GroupVersionKind() != kind {
		return field.ErrorList{field.NotSupported(fldPath.Child("kind"), ref.Kind, []string{kind.Kind})}
	}
	secret := &corev1.Secret{}
	err := secrets.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return field.ErrorList{field.InternalError(fldPath, err)}
	}
	if apierrors.IsNotFound(err) || len(validation.ValidateBackupCredentials(store, secret.Data, nil)) > 0 {
		return field.ErrorList{field.Forbidden(fldPath, fmt.Sprintf(
			"the Secret must have exactly the keys %s, with values of one line", validation.DescribeBackupCredentials(store)))}
	}
	return nil
}

type backupBucketValidator struct{}

// NewBackupBucketValidator returns a validator of BackupBuckets of the provider type.
func NewBackupBucketValidator() extensionswebhook.Validator {
	return backupBucketValidator{}
}

// Validate validates the configuration of a BackupBucket, of an update only if it changes.
func (backupBucketValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	bucket, old, err := typed[*gardencorev1beta1.BackupBucket](newObj, oldObj)
	if err != nil {
		return err
	}
	if bucket.Spec.Provider.Type != v1alpha1.ProviderType || bucket.DeletionTimestamp != nil {
		return nil
	}
	var before *runtime.RawExtension
	if old != nil {
		if before = old.Spec.ProviderConfig; sameJSON(bucket.Spec.ProviderConfig, before) {
			return nil
		}
	}
	_, allErrs := validateBackupConfig(ctx, bucket.Spec.ProviderConfig, before, bucket.Spec.Provider.Region, profileConfigPath)
	return allErrs.ToAggregate()
}

// validateBackupConfig validates a BackupBucketConfig, and warns of it. before is the former one, which may be missing.
func validateBackupConfig(ctx context.Context, raw, before *runtime.RawExtension, region string,
	fldPath *field.Path) (*v1alpha1.BackupBucketConfig, field.ErrorList) {
	config, err := decode[v1alpha1.BackupBucketConfig](raw)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(fldPath, "(hidden)", err.Error())}
	}
	if config != nil {
		v1alpha1.SetBackupBucketConfigDefaults(config, region)
	}
	if allErrs := validation.ValidateBackupBucketConfig(config, fldPath); len(allErrs) > 0 {
		return nil, allErrs
	}
	// Nothing is compared with a configuration that can no longer be decoded.
	old, err := decode[v1alpha1.BackupBucketConfig](before)
	if err == nil && old != nil {
		if allErrs := validation.ValidateBackupBucketConfigUpdate(config, old, fldPath); len(allErrs) > 0 {
			return nil, allErrs
		}
	}
	warn(ctx, func() []string { return backupWarnings(config, old, fldPath) })
	return config, nil
}

// backupWarnings warns of backups that are not where they may be expected. old may be nil.
func backupWarnings(config, old *v1alpha1.BackupBucketConfig, fldPath *field.Path) []string {
	var warnings []string
	if config.S3 != nil && old != nil && old.S3 != nil && config.S3.Endpoint != old.S3.Endpoint {
		warnings = append(warnings, fmt.Sprintf("%s: backups are not copied: the new address must lead to the same buckets",
			fldPath.Child("s3", "endpoint")))
	}
	if config.Swift != nil && old == nil {
		warnings = append(warnings, fmt.Sprintf("%s: etcd-backup-restore uses the first object store in the catalog, in whatever region it is",
			fldPath.Child("swift", "region")))
	}
	return warnings
}
