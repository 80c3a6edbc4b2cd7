// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// retentionUnit is what retention periods are multiples of.
const retentionUnit = 24 * time.Hour

var (
	backupStores         = []v1alpha1.BackupStore{v1alpha1.BackupStoreS3, v1alpha1.BackupStoreSwift}
	backupRetentionTypes = []v1alpha1.BackupRetentionType{v1alpha1.BackupRetentionTypeBucket}
	backupRetentionModes = []v1alpha1.BackupRetentionMode{v1alpha1.BackupRetentionModeCompliance, v1alpha1.BackupRetentionModeGovernance}
	// backupCredentials are the sets of keys of the Secret for a store. They are those that etcd-backup-restore needs.
	backupCredentials = map[v1alpha1.BackupStore][][]string{
		v1alpha1.BackupStoreS3: {{"accessKeyID", "secretAccessKey"}},
		v1alpha1.BackupStoreSwift: {
			{"domainName", "tenantName", "username", "password"},
			{"domainName", "tenantName", "applicationCredentialID", "applicationCredentialName", "applicationCredentialSecret"},
		},
	}
)

// ValidateBackupBucketConfig validates a BackupBucketConfig with its defaults, which may be nil.
func ValidateBackupBucketConfig(config *v1alpha1.BackupBucketConfig, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return field.ErrorList{field.Required(fldPath, "must say where the store is")}
	}
	allErrs := validateOneOf(config.Store, backupStores, fldPath.Child("store"))
	if len(allErrs) > 0 {
		return allErrs
	}
	reason := fmt.Sprintf("the store is %s", config.Store)
	if s3Path := fldPath.Child("s3"); config.Store == v1alpha1.BackupStoreS3 {
		if config.S3 == nil {
			allErrs = append(allErrs, field.Required(s3Path, reason))
		} else {
			allErrs = append(allErrs, validateS3BackupStore(config.S3, s3Path)...)
		}
	} else if config.S3 != nil {
		allErrs = append(allErrs, field.Forbidden(s3Path, reason))
	}
	if swiftPath := fldPath.Child("swift"); config.Store == v1alpha1.BackupStoreSwift {
		if config.Swift == nil {
			allErrs = append(allErrs, field.Required(swiftPath, reason))
		} else {
			allErrs = append(allErrs, validateURL(config.Swift.AuthURL, []string{"https"}, swiftPath.Child("authURL"))...)
			allErrs = append(allErrs, validateBackupRegion(config.Swift.Region, swiftPath.Child("region"))...)
		}
	} else if config.Swift != nil {
		allErrs = append(allErrs, field.Forbidden(swiftPath, reason))
	}
	return allErrs
}

func validateS3BackupStore(store *v1alpha1.S3BackupStore, fldPath *field.Path) field.ErrorList {
	allErrs := validateURL(store.Endpoint, []string{"https"}, fldPath.Child("endpoint"))
	if parsed, err := url.Parse(store.Endpoint); len(allErrs) == 0 && err == nil && parsed.Path != "" {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("endpoint"), store.Endpoint, "must not have a path"))
	}
	allErrs = append(allErrs, validateBackupRegion(store.Region, fldPath.Child("region"))...)
	if store.CABundle != "" {
		allErrs = append(allErrs, validateRequired(store.CABundle, fldPath.Child("caBundle"))...)
		allErrs = append(allErrs, validateCertificates(store.CABundle, fldPath.Child("caBundle"))...)
	}
	if immutability := store.Immutability; immutability != nil {
		allErrs = append(allErrs, validateBackupImmutability(immutability, fldPath.Child("immutability"))...)
	}
	return allErrs
}

func validateBackupRegion(region string, fldPath *field.Path) field.ErrorList {
	if region == "" {
		return field.ErrorList{field.Required(fldPath, "the backup has no region that it could default to")}
	}
	return validateCredentialValue("", []byte(region), fldPath)
}

func validateBackupImmutability(immutability *v1alpha1.BackupImmutability, fldPath *field.Path) field.ErrorList {
	allErrs := validateOneOf(immutability.RetentionType, backupRetentionTypes, fldPath.Child("retentionType"))
	allErrs = append(allErrs, validateOneOf(immutability.Mode, backupRetentionModes, fldPath.Child("mode"))...)
	if period := immutability.RetentionPeriod.Duration; period <= 0 || period%retentionUnit != 0 {
		allErrs = append(allErrs, field.Invalid(fldPath.Child("retentionPeriod"), period.String(), "must be a positive multiple of 24h"))
	}
	return allErrs
}

// ValidateBackupBucketConfigUpdate validates that the store stays the same, and that its objects stay immutable. Neither may be nil.
func ValidateBackupBucketConfigUpdate(newConfig, oldConfig *v1alpha1.BackupBucketConfig, fldPath *field.Path) field.ErrorList {
	if newConfig.Store != oldConfig.Store {
		return field.ErrorList{field.Invalid(fldPath.Child("store"), newConfig.Store,
			fmt.Sprintf("must stay %s: backups do not move to another store", oldConfig.Store))}
	}
	if oldConfig.S3 == nil || oldConfig.S3.Immutability == nil || newConfig.S3 == nil {
		return nil
	}
	var (
		before, after = oldConfig.S3.Immutability, newConfig.S3.Immutability
		path          = fldPath.Child("s3", "immutability")
	)
	switch {
	case after == nil:
		return field.ErrorList{field.Required(path, "must not be removed")}
	case before.Mode != v1alpha1.BackupRetentionModeCompliance:
		return nil
	case after.Mode != before.Mode:
		return field.ErrorList{field.Invalid(path.Child("mode"), after.Mode, fmt.Sprintf("must stay %s", before.Mode))}
	case after.RetentionPeriod.Duration < before.RetentionPeriod.Duration:
		return field.ErrorList{field.Invalid(path.Child("retentionPeriod"), after.RetentionPeriod.Duration.String(),
			fmt.Sprintf("must be at least %s: it cannot be reduced in mode %s", before.RetentionPeriod.Duration, before.Mode))}
	}
	return nil
}

// ValidateBackupCredentials validates the data of the Secret for a store. Messages name keys, never values. fldPath is the path of the
// data.
func ValidateBackupCredentials(store v1alpha1.BackupStore, data map[string][]byte, fldPath *field.Path) field.ErrorList {
	var (
		allErrs      field.ErrorList
		alternatives = backupCredentials[store]
		needed       = fmt.Sprintf("a store of kind %s needs the keys %s", store, describe("", alternatives))
		has          = func(key string) bool { _, ok := data[key]; return ok }
		all          = slices.Compact(slices.Sorted(slices.Values(slices.Concat(alternatives...))))
	)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		keyPath := fldPath.Key(key)
		if slices.Contains(addressKeys, key) {
			allErrs = append(allErrs, field.Forbidden(keyPath,
				"must not be set: addresses and trusted certificates are configured in providerConfig"))
		} else if !slices.Contains(all, key) {
			// One names what is meant, and a Secret has room for thousands.
			return append(allErrs, field.NotSupported(keyPath, key, all))
		} else {
			allErrs = append(allErrs, validateCredentialValue(key, data[key], keyPath)...)
		}
	}
	begun := begunSets(alternatives, func(key string) bool { return has(key) && !isShared(key, alternatives) })
	if len(begun) > 1 {
		return append(allErrs, field.Forbidden(fldPath, "must have only one of the sets of keys "+describe("", begun)))
	}
	for _, key := range slices.Concat(begun, alternatives, [][]string{nil})[0] {
		if !has(key) {
			allErrs = append(allErrs, field.Required(fldPath.Key(key), needed))
		}
	}
	return allErrs
}

// isShared returns whether each of several sets has the key.
func isShared(key string, alternatives [][]string) bool {
	return len(alternatives) > 1 && !slices.ContainsFunc(alternatives, func(keys []string) bool { return !slices.Contains(keys, key) })
}

// DescribeBackupCredentials lists the sets of keys of the Secret for a store.
func DescribeBackupCredentials(store v1alpha1.BackupStore) string {
	return describe("", backupCredentials[store])
}
