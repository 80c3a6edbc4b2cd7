// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/lifecycle"
	"github.com/minio/minio-go/v7/pkg/tags"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// ownerTag is the key of the tag of buckets with the name of the BackupBucket.
	ownerTag = "gardener-backup-bucket"
	// abortAfterDays is after how many days stores remove incomplete uploads.
	abortAfterDays = 7
	// maxDays is the longest retention of Amazon S3.
	maxDays = 36500
)

type store struct {
	client    *minio.Client
	transport *transport
	config    v1alpha1.S3BackupStore
	endpoint  *url.URL
}

// allow lets requests go to the host of the bucket.
func (s *store) allow(bucket string) {
	if s.config.VirtualHosted {
		s.transport.next.Allow(&url.URL{Scheme: s.endpoint.Scheme, Host: bucket + "." + s.endpoint.Host})
	}
}

// EnsureBucket implements backup.Store.
func (s *store) EnsureBucket(ctx context.Context, bucket, owner string) (warnings []string, err error) {
	defer backup.InBucket(bucket, &err)
	s.allow(bucket)
	found, exists, err := s.tags(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if !exists {
		if err := s.create(ctx, bucket); err != nil {
			return nil, err
		}
	}
	switch mark := found[ownerTag]; {
	case mark == owner:
	case mark != "":
		return nil, backup.Foreign(owner, mark)
	default:
		if err := s.adopt(ctx, bucket, owner, found); err != nil {
			return nil, err
		}
	}
	if err := s.ensureImmutability(ctx, bucket); err != nil {
		return nil, err
	}
	return s.ensureLifecycle(ctx, bucket), nil
}

// tags returns the tags of the bucket, and whether it exists.
func (s *store) tags(ctx context.Context, bucket string) (map[string]string, bool, error) {
	found, err := s.client.GetBucketTagging(ctx, bucket)
	switch {
	case err == nil:
		return found.ToMap(), true, nil
	case is(err, minio.NoSuchBucket):
		return nil, false, nil
	case is(err, minio.NoSuchTagSet, "NoSuchTagSetError"):
		return map[string]string{}, true, nil
	case isUnsupported(err):
		return nil, false, platform.NewError(platform.ClassConfiguration,
			"the store does not support tags of buckets, which tell whose a bucket is: %w", classify(err))
	}
	return nil, false, classify(err)
}

func (s *store) create(ctx context.Context, bucket string) error {
	err := s.client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{Region: s.config.Region, ObjectLocking: s.config.Immutability != nil})
	if is(err, minio.BucketAlreadyOwnedByYou) { // the response to an earlier request was lost
		return nil
	}
	return classify(err)
}

// adopt marks an empty bucket.
func (s *store) adopt(ctx context.Context, bucket, owner string, found map[string]string) error {
	for _, err := range s.versions(ctx, bucket, "") {
		if err != nil {
			return err
		}
		return backup.Foreign(owner, "")
	}
	marked := map[string]string{ownerTag: owner}
	for key, value := range found {
		if key != ownerTag {
			marked[key] = value
		}
	}
	set, err := tags.MapToBucketTags(marked)
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "tags: %w", platform.Foreign(err))
	}
	return classify(s.client.SetBucketTagging(ctx, bucket, set))
}

// ensureImmutability sets the default retention of the bucket, or raises it.
func (s *store) ensureImmutability(ctx context.Context, bucket string) error {
	want := s.config.Immutability
	if want == nil {
		return nil
	}
	mode, days := minio.RetentionMode(strings.ToUpper(string(want.Mode))), uint(want.RetentionPeriod.Hours()/24)
	current, err := s.retention(ctx, bucket)
	if err != nil {
		return err
	}
	switch {
	case current.mode == mode && current.days == days:
		return nil
	case current.mode == minio.Compliance && (mode != minio.Compliance || current.days > days):
		return platform.NewError(platform.ClassConfiguration,
			"s3.immutability: it is %d days in mode compliance, which cannot be reduced to %d days in mode %s", current.days, days, want.Mode)
	}
	if !current.locks {
		if err := s.client.EnableVersioning(ctx, bucket); err != nil {
			return classify(err)
		}
	}
	unit := minio.Days
	err = s.client.SetBucketObjectLockConfig(ctx, bucket, &mode, &days, &unit)
	if err != nil && !current.locks {
		return platform.NewError(platform.ClassConfiguration,
			"s3.immutability: the bucket was created without object lock, and the store does not enable it later: %w", classify(err))
	}
	return classify(err)
}

// retention is the default retention of a bucket.
type retention struct {
	// locks is false if the bucket has no object lock.
	locks bool
	mode  minio.RetentionMode
	days  uint
}

func (s *store) retention(ctx context.Context, bucket string) (retention, error) {
	enabled, mode, validity, unit, err := s.client.GetObjectLockConfig(ctx, bucket)
	if is(err, "ObjectLockConfigurationNotFoundError") || isUnsupported(err) {
		return retention{}, nil
	}
	if err != nil {
		return retention{}, classify(err)
	}
	result := retention{locks: enabled == "Enabled"}
	if mode != nil && validity != nil && unit != nil {
		result.mode, result.days = *mode, *validity
		if *unit == minio.Years {
			result.days *= 365
		}
		result.days = min(result.days, maxDays)
	}
	return result, nil
}

// ensureLifecycle makes the store remove what uploads left that were not completed. It is not touched if the bucket has a lifecycle.
func (s *store) ensureLifecycle(ctx context.Context, bucket string) (warnings []string) {
	current, err := s.client.GetBucketLifecycle(ctx, bucket)
	if err == nil && !current.Empty() {
		return nil
	}
	if err == nil || is(err, "NoSuchLifecycleConfiguration") {
		config := lifecycle.NewConfiguration()
		config.Rules = []lifecycle.Rule{{
			ID: "gardener-incomplete-uploads", Status: "Enabled",
			AbortIncompleteMultipartUpload: lifecycle.AbortIncompleteMultipartUpload{DaysAfterInitiation: abortAfterDays},
		}}
		err = s.client.SetBucketLifecycle(ctx, bucket, config)
	}
	if err != nil {
		return []string{
			fmt.Sprintf("bucket %q: incomplete uploads are not removed after %d days: %s", bucket, abortAfterDays, classify(err)),
		}
	}
	return nil
}

// Usage implements backup.Store.
func (s *store) Usage(ctx context.Context, bucket, prefix string) (usage backup.Usage, err error) {
	defer backup.InBucket(bucket, &err)
	s.allow(bucket)
	usage.Complete = true
	for version, err := range s.versions(ctx, bucket, prefix) {
		switch {
		case is(err, minio.NoSuchBucket):
			return usage, nil
		case err != nil:
			return backup.Usage{}, err
		case !usage.Add(version.Size, version.LastModified):
			return usage, nil
		}
	}
	return usage, nil
}
