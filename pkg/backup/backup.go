// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backup is what the controllers of backups know of object stores.
package backup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// RequestTimeout limits each request to a store, including the response.
	RequestTimeout = 30 * time.Second
	// MaxDeletions is how many objects, versions and markers one call deletes. The error of a call that leaves more is progress.
	MaxDeletions = 20_000
	// MaxUsage is how many entries are counted.
	MaxUsage = 10_000
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
	// Usage counts what is below the prefix, versions and markers included, up to MaxUsage entries. An empty prefix is the whole bucket.
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

// CheckPrefix returns an error if objects below the prefix must not be deleted.
func CheckPrefix(prefix string) error {
	if !strings.HasSuffix(prefix, "/") || strings.HasPrefix(prefix, "/") {
		return platform.NewError(platform.ClassConfiguration, "prefix %q: must end with a slash and must not begin with one", prefix)
	}
	return nil
}

// CheckBelow returns an error if a store lists an object that was not asked for.
func CheckBelow(prefix, key string) error {
	if key == "" || !strings.HasPrefix(key, prefix) {
		return platform.NewError(platform.ClassTransient, "the store lists an object that is not below %q: %q", prefix, platform.Printable(key))
	}
	return nil
}

// InBucket names the bucket in the error of a store. It is for a named result of a function that defers it.
func InBucket(bucket string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("bucket %q: %w", bucket, *err)
	}
}

// Foreign is the error for a bucket that is not that of the owner.
func Foreign(owner, mark string) error {
	if mark == "" {
		return platform.NewError(platform.ClassConfiguration,
			"it has objects, and no mark that it belongs to BackupBucket %q; nothing is changed", owner)
	}
	return platform.NewError(platform.ClassConfiguration, "it belongs to %q and not to BackupBucket %q; nothing is changed",
		platform.Printable(mark), owner)
}

// Left is the error of a deletion that is to be continued.
func Left(deleted int) error {
	return platform.NewProgress("%d objects, versions and markers were deleted, and there are more", deleted)
}

// Add counts an entry. It returns false if no more are counted.
func (u *Usage) Add(size int64, modified time.Time) bool {
	if u.Objects == MaxUsage {
		u.Complete = false
		return false
	}
	u.Objects++
	u.Bytes = max(u.Bytes, u.Bytes+max(0, size)) // a sum that overflows is negative
	if modified.After(u.LastModified) {
		u.LastModified = modified
	}
	return true
}
