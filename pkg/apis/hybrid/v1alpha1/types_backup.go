// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupStore is a kind of object store.
type BackupStore string

const (
	// BackupStoreS3 is a store with the API of Amazon S3.
	BackupStoreS3 BackupStore = "S3"
	// BackupStoreSwift is an OpenStack Swift.
	BackupStoreSwift BackupStore = "Swift"
)

// BackupSecretKeyStore is the key of the kind of the store in the Secrets that etcd-backup-restore reads. The webhook for Etcds reads it.
const BackupSecretKeyStore = "store"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BackupBucketConfig is the provider configuration of a BackupBucket, which is that of a Seed's or a Garden's backup.
type BackupBucketConfig struct {
	metav1.TypeMeta `json:",inline"`
	// Store is the kind of the store. It must be one of S3 and Swift, and is immutable.
	Store BackupStore `json:"store"`
	// S3 is required if the store is S3, and forbidden otherwise.
	// +optional
	S3 *S3BackupStore `json:"s3,omitempty"`
	// Swift is required if the store is Swift, and forbidden otherwise.
	// +optional
	Swift *SwiftBackupStore `json:"swift,omitempty"`
}

// S3BackupStore is where an S3 store is, and how it keeps objects.
type S3BackupStore struct {
	// Endpoint is the URL of the store, such as https://s3.example.com:9000. The scheme must be https. It has no path.
	Endpoint string `json:"endpoint"`
	// Region is the region that requests are signed for. It defaults to the region of the BackupBucket.
	// +optional
	Region string `json:"region,omitempty"`
	// VirtualHosted puts the name of the bucket in the host name of requests instead of their path.
	// +optional
	VirtualHosted bool `json:"virtualHosted,omitempty"`
	// CABundle contains PEM certificates of authorities that are trusted instead of those of the system. etcd-backup-restore connects
	// with TLS 1.3 at least if it is set.
	// +optional
	CABundle string `json:"caBundle,omitempty"`
	// Immutability keeps objects from being changed and deleted. It needs a store with object lock.
	// +optional
	Immutability *BackupImmutability `json:"immutability,omitempty"`
}

// BackupRetentionType is what a retention applies to.
type BackupRetentionType string

// BackupRetentionTypeBucket applies a retention to each new object of a bucket.
const BackupRetentionTypeBucket BackupRetentionType = "bucket"

// BackupRetentionMode says who may delete an object before its retention ends.
type BackupRetentionMode string

const (
	// BackupRetentionModeCompliance allows no user to delete an object.
	BackupRetentionModeCompliance BackupRetentionMode = "compliance"
	// BackupRetentionModeGovernance lets those delete an object who have a special permission.
	BackupRetentionModeGovernance BackupRetentionMode = "governance"
)

// BackupImmutability is the retention of the objects in a bucket. The API is that of Gardener's provider for AWS.
type BackupImmutability struct {
	// RetentionType is what the retention applies to. It must be bucket.
	RetentionType BackupRetentionType `json:"retentionType"`
	// RetentionPeriod is how long an object is kept. It must be a positive multiple of 24h, and cannot be reduced in mode compliance.
	RetentionPeriod metav1.Duration `json:"retentionPeriod"`
	// Mode must be one of compliance and governance. It cannot be changed from compliance to governance.
	Mode BackupRetentionMode `json:"mode"`
}

// SwiftBackupStore is where a Swift store is.
type SwiftBackupStore struct {
	// AuthURL is the URL of Keystone, such as https://keystone.example.com/v3. The scheme must be https. etcd-backup-restore knows no
	// certificate authorities but those of the system.
	AuthURL string `json:"authURL"`
	// Region is the region of the object store in the catalog. It defaults to the region of the BackupBucket.
	// +optional
	Region string `json:"region,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BackupBucketStatus is the provider status of a BackupBucket. Gardener copies it to the BackupEntries of the bucket.
type BackupBucketStatus struct {
	metav1.TypeMeta `json:",inline"`
	// Config is the configuration that was applied, with its defaults.
	Config BackupBucketConfig `json:"config"`
}
