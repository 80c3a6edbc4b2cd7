// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

const (
	// pageSize is how many versions are listed, and deleted, by one request.
	pageSize = 1000
	// maxUploads is how many incomplete uploads one call removes.
	maxUploads = 50
	// maxLooks is of how many versions that could not be deleted the retention is read.
	maxLooks = 10
)

// DeleteBucket implements backup.Store.
func (s *store) DeleteBucket(ctx context.Context, bucket, owner string) (err error) {
	defer backup.InBucket(bucket, &err)
	s.allow(bucket)
	found, exists, err := s.tags(ctx, bucket)
	if err != nil || !exists || found[ownerTag] != owner {
		return err
	}
	if err := s.clear(ctx, bucket, ""); err != nil {
		return err
	}
	err = s.client.RemoveBucket(ctx, bucket)
	switch {
	case is(err, minio.NoSuchBucket):
		return nil
	case is(err, minio.BucketNotEmpty):
		return backup.Left(0)
	}
	return classify(err)
}

// DeletePrefix implements backup.Store.
func (s *store) DeletePrefix(ctx context.Context, bucket, prefix string) (err error) {
	defer backup.InBucket(bucket, &err)
	if err := backup.CheckPrefix(prefix); err != nil {
		return err
	}
	s.allow(bucket)
	return s.clear(ctx, bucket, prefix)
}

// clear deletes what is below the prefix. It is a no-op if the bucket does not exist.
func (s *store) clear(ctx context.Context, bucket, prefix string) error {
	err := s.abortUploads(ctx, bucket, prefix)
	if err == nil {
		err = s.deleteVersions(ctx, bucket, prefix)
	}
	if is(err, minio.NoSuchBucket) {
		return nil
	}
	return err
}

func (s *store) deleteVersions(ctx context.Context, bucket, prefix string) error {
	var (
		batch []minio.ObjectInfo
		kept  refused
		seen  int
	)
	for version, err := range s.versions(ctx, bucket, prefix) {
		if err != nil {
			return err
		}
		if seen == backup.MaxDeletions {
			break
		}
		seen++
		if batch = append(batch, version); len(batch) == pageSize {
			if err := s.delete(ctx, bucket, batch, &kept); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := s.delete(ctx, bucket, batch, &kept); err != nil {
		return err
	}
	if kept.err != nil {
		return s.explain(ctx, bucket, kept)
	}
	if seen == 0 {
		return nil
	}
	// Nothing is gone because the store said so.
	for _, err := range s.versions(ctx, bucket, prefix) {
		if err != nil {
			return err
		}
		return backup.Left(seen)
	}
	return nil
}

// versions lists the versions and markers below the prefix, and all objects if there are no versions.
func (s *store) versions(ctx context.Context, bucket, prefix string) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		ctx := sharedtransport.OneList(ctx)
		options := minio.ListObjectsOptions{Prefix: prefix, Recursive: true, WithVersions: true, MaxKeys: pageSize}
		for version := range s.client.ListObjectsIter(ctx, bucket, options) {
			err := classify(version.Err)
			if err == nil {
				err = backup.CheckBelow(prefix, version.Key)
			}
			if !yield(version, err) || err != nil {
				return
			}
			sharedtransport.Keep(ctx, "", 0) // only the number of requests is limited
		}
	}
}

// refused are versions that the store did not delete.
type refused struct {
	versions []minio.ObjectInfo
	// err is why, of one of them.
	err error
}

// delete deletes markers, which are never locked, and versions, the oldest first. It appends those that the store refuses to delete.
func (s *store) delete(ctx context.Context, bucket string, batch []minio.ObjectInfo, kept *refused) error {
	slices.SortFunc(batch, func(a, b minio.ObjectInfo) int { return a.LastModified.Compare(b.LastModified) })
	var markers, versions []minio.ObjectInfo
	for _, version := range batch {
		if version.IsDeleteMarker {
			markers = append(markers, version)
		} else {
			versions = append(versions, version)
		}
	}
	if err := s.deleteSorted(ctx, bucket, markers, kept); err != nil {
		return err
	}
	return s.deleteSorted(ctx, bucket, versions, kept)
}

// deleteSorted deletes the versions. Some stores delete none of several if one of them is locked. With a retention of the bucket, the
// newest are: once one is refused alone, newer ones are not tried.
func (s *store) deleteSorted(ctx context.Context, bucket string, versions []minio.ObjectInfo, kept *refused) error {
	if len(versions) == 0 {
		return nil
	}
	refusal, err := s.deleteBatch(ctx, bucket, versions, kept)
	if err != nil || refusal == nil {
		return err
	}
	if len(versions) == 1 {
		kept.versions, kept.err = append(kept.versions, versions[0]), refusal
		return nil
	}
	older, newer, before := versions[:len(versions)/2], versions[len(versions)/2:], len(kept.versions)
	if err := s.deleteSorted(ctx, bucket, older, kept); err != nil {
		return err
	}
	if len(kept.versions) > before {
		kept.versions = append(kept.versions, newer...)
		return nil
	}
	return s.deleteSorted(ctx, bucket, newer, kept)
}

// deleteBatch sends one request. It returns why the store refuses it as a whole, nil if it does not.
func (s *store) deleteBatch(ctx context.Context, bucket string, versions []minio.ObjectInfo, kept *refused) (refusal, err error) {
	type id struct{ key, version string }
	asked := make(map[id]minio.ObjectInfo, len(versions))
	for _, version := range versions {
		asked[id{version.Key, version.VersionID}] = version
	}
	results, err := s.client.RemoveObjectsWithIter(ctx, bucket, slices.Values(versions), minio.RemoveObjectsOptions{})
	if err != nil {
		return nil, classify(err)
	}
	for result := range results {
		if result.Err == nil {
			continue
		}
		version, ok := asked[id{result.ObjectName, result.ObjectVersionID}]
		switch response := minio.ToErrorResponse(result.Err); {
		case ok && response.StatusCode == 0 && response.Code != "": // of this version
			kept.versions, kept.err = append(kept.versions, version), classify(result.Err)
		case is(result.Err, minio.AccessDenied, "InvalidRequest", "ObjectLocked"):
			return classify(result.Err), nil
		default:
			return nil, classify(result.Err)
		}
	}
	return nil, nil
}

// explain returns a *backup.LockedError if the versions are locked, and otherwise why they were not deleted.
func (s *store) explain(ctx context.Context, bucket string, kept refused) error {
	// With a retention of the bucket, the newest version is kept longest.
	slices.SortFunc(kept.versions, func(a, b minio.ObjectInfo) int { return b.LastModified.Compare(a.LastModified) })
	locked := &backup.LockedError{Versions: len(kept.versions)}
	ofBucket, err := s.retention(ctx, bucket)
	if err != nil {
		return err
	}
	for _, version := range kept.versions[:min(len(kept.versions), maxLooks)] {
		until, held, err := s.lock(ctx, bucket, version)
		switch {
		case err != nil:
			return err
		case held:
			locked.Until = time.Time{}
			return platform.NewProgress("%w", locked)
		case until.IsZero(): // not every store tells what the retention of the bucket means for a version
			until = version.LastModified.AddDate(0, 0, int(ofBucket.days)) // #nosec G115 -- limited
		}
		switch {
		case !until.After(time.Now()):
			return kept.err
		case until.After(locked.Until):
			locked.Until = until
		}
	}
	return platform.NewProgress("%w", locked)
}

// lock returns until when the version is retained, and whether it is held without a time.
func (s *store) lock(ctx context.Context, bucket string, version minio.ObjectInfo) (until time.Time, held bool, err error) {
	const none = "NoSuchObjectLockConfiguration"
	missing := func(err error) bool {
		return is(err, none, minio.NoSuchVersion, minio.NoSuchKey, "ObjectLockConfigurationNotFoundError", "InvalidRequest") || isUnsupported(err)
	}
	hold, err := s.client.GetObjectLegalHold(ctx, bucket, version.Key, minio.GetObjectLegalHoldOptions{VersionID: version.VersionID})
	if err != nil && !missing(err) {
		return time.Time{}, false, classify(err)
	}
	if err == nil && *hold == minio.LegalHoldEnabled {
		return time.Time{}, true, nil
	}
	_, date, err := s.client.GetObjectRetention(ctx, bucket, version.Key, version.VersionID)
	switch {
	case err != nil && !missing(err):
		return time.Time{}, false, classify(err)
	case date != nil:
		until = *date
	}
	return until, false, nil
}

// abortUploads removes what uploads left below the prefix that were not completed.
func (s *store) abortUploads(ctx context.Context, bucket, prefix string) error {
	core := minio.Core{Client: s.client}
	found, err := core.ListMultipartUploads(ctx, bucket, prefix, "", "", "", maxUploads)
	if isUnsupported(err) {
		return nil
	}
	if err != nil {
		return classify(err)
	}
	for i, upload := range found.Uploads {
		if i == maxUploads {
			return backup.Left(i)
		}
		if err := backup.CheckBelow(prefix, upload.Key); err != nil {
			return err
		}
		if err := core.AbortMultipartUpload(ctx, bucket, upload.Key, upload.UploadID); err != nil && !is(err, minio.NoSuchUpload) {
			return classify(err)
		}
	}
	if found.IsTruncated {
		return backup.Left(len(found.Uploads))
	}
	return nil
}
