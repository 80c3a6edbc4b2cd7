// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backup is what the controllers of backups know of object stores.
package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Stores are the kinds of stores.
type Stores map[v1alpha1.BackupStore]Opener

// Access is how a store is accessed.
type Access struct {
	// Config is the validated configuration of the store, with its defaults.
	Config *v1alpha1.BackupBucketConfig
	// Credentials are the validated data of the Secret.
	Credentials map[string][]byte
}

// Opener opens stores of one kind.
type Opener interface {
	// Open returns the store. It may send requests, such as for a token. Errors are classified.
	Open(ctx context.Context, access Access) (Store, error)
	// SecretData returns the keys that etcd-backup-restore reads, without the name of the bucket. It sends no request.
	SecretData(access Access) map[string][]byte
}

// Store is an object store. Errors are classified as those of a site are, and name the bucket. It is safe for concurrent use.
type Store interface {
	// EnsureBucket creates the bucket with the mark of the owner, which is the name of the BackupBucket, or adopts it if it has that mark
	// or is empty and has none, and applies the configuration to it. Other buckets are errors of platform.ClassConfiguration. Warnings
	// are about what is useful and not supported by the store.
	EnsureBucket(ctx context.Context, bucket, owner string) (warnings []string, err error)
	// DeleteBucket deletes all objects, versions and markers of the bucket, and the bucket. It is a no-op if the bucket does not exist
	// or does not have the mark of the owner. It returns a *LockedError if only locked versions are left.
	DeleteBucket(ctx context.Context, bucket, owner string) error
	// DeletePrefix deletes all objects, versions and markers whose keys begin with the prefix, which must end with a slash and must not
	// be a slash alone. It is a no-op if the bucket does not exist. It returns a *LockedError if only locked versions are left.
	DeletePrefix(ctx context.Context, bucket, prefix string) error
	// Usage counts what is below the prefix, versions and markers included, up to 10,000 entries. An empty prefix is the whole bucket.
	Usage(ctx context.Context, bucket, prefix string) (Usage, error)
}

// Usage is what is below a prefix.
type Usage struct {
	// Objects is the number of objects, versions and markers.
	Objects int
	// Bytes is their size.
	Bytes int64
	// LastModified is when the newest was written, zero if there are none.
	LastModified time.Time
	// Complete is false if there are more than were counted.
	Complete bool
}

// LockedError means that objects cannot be deleted before a time.
type LockedError struct {
	// Versions is the number of the locked versions.
	Versions int
	// Until is when the retention of the last one ends, zero if the store does not say it.
	Until time.Time
}

// Error says how many versions are left, and until when.
func (e *LockedError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("%d versions are locked", e.Versions)
	}
	return fmt.Sprintf("%d versions are locked until %s", e.Versions, e.Until.UTC().Format(time.RFC3339))
}
