// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package swift

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	// ownerKey is the key of the metadata of containers with the name of the BackupBucket, as Go writes headers.
	ownerKey = "Gardener-Backup-Bucket"
	// pageSize is how many objects are listed by one request, and batchSize how many are deleted.
	pageSize  = 1000
	batchSize = 200
)

type store struct {
	api *gophercloud.ServiceClient
}

// EnsureBucket implements backup.Store.
func (s *store) EnsureBucket(ctx context.Context, bucket, owner string) (_ []string, err error) {
	defer backup.InBucket(bucket, &err)
	mark, exists, err := s.mark(ctx, bucket)
	marked := map[string]string{ownerKey: owner}
	switch {
	case err != nil:
		return nil, err
	case !exists: // the mark is stored with the container, by one request
		return nil, client.Classify(containers.Create(ctx, s.api, bucket, containers.CreateOpts{Metadata: marked}).Err)
	case mark == owner:
		return nil, nil
	case mark != "":
		return nil, backup.Foreign(owner, mark)
	}
	for _, err := range s.objects(ctx, bucket, "") {
		if err != nil {
			return nil, err
		}
		return nil, backup.Foreign(owner, "")
	}
	return nil, client.Classify(containers.Update(ctx, s.api, bucket, containers.UpdateOpts{Metadata: marked}).Err)
}

// mark returns the mark of the container, and whether it exists.
func (s *store) mark(ctx context.Context, bucket string) (string, bool, error) {
	metadata, err := containers.Get(ctx, s.api, bucket, nil).ExtractMetadata()
	if client.IsNotFound(err) {
		return "", false, nil
	}
	return metadata[ownerKey], err == nil, client.Classify(err)
}

// DeleteBucket implements backup.Store.
func (s *store) DeleteBucket(ctx context.Context, bucket, owner string) (err error) {
	defer backup.InBucket(bucket, &err)
	mark, exists, err := s.mark(ctx, bucket)
	if err != nil || !exists || mark != owner {
		return err
	}
	if err := s.clear(ctx, bucket, ""); err != nil {
		return err
	}
	err = client.IgnoreNotFound(containers.Delete(ctx, s.api, bucket).Err)
	if platform.ClassOf(err) == platform.ClassConflict { // its listing was behind
		return backup.Left(0)
	}
	return err
}

// DeletePrefix implements backup.Store.
func (s *store) DeletePrefix(ctx context.Context, bucket, prefix string) (err error) {
	defer backup.InBucket(bucket, &err)
	if err := backup.CheckPrefix(prefix); err != nil {
		return err
	}
	return s.clear(ctx, bucket, prefix)
}

// clear deletes what is below the prefix. It is a no-op if the container does not exist.
func (s *store) clear(ctx context.Context, bucket, prefix string) error {
	var (
		batch []string
		seen  int
	)
	for object, err := range s.objects(ctx, bucket, prefix) {
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if seen == backup.MaxDeletions {
			break
		}
		seen++
		if batch = append(batch, object.Name); len(batch) == batchSize {
			if err := s.delete(ctx, bucket, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if seen == 0 {
		return nil
	}
	if err := s.delete(ctx, bucket, batch); err != nil {
		return err
	}
	// Nothing is gone because the store said so.
	for _, err := range s.objects(ctx, bucket, prefix) {
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		return backup.Left(seen)
	}
	return nil
}

// errEnough ends a list.
var errEnough = errors.New("enough")

// objects lists the objects below the prefix.
func (s *store) objects(ctx context.Context, bucket, prefix string) iter.Seq2[objects.Object, error] {
	return func(yield func(objects.Object, error) bool) {
		pager := objects.List(s.api, bucket, objects.ListOpts{Prefix: prefix, Limit: pageSize})
		err := client.EachPage(ctx, pager, func(page pagination.Page) error {
			found, err := objects.ExtractInfo(page)
			if err != nil {
				return err
			}
			for _, object := range found {
				err := backup.CheckBelow(prefix, object.Name)
				if !yield(object, err) || err != nil {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(objects.Object{}, err)
		}
	}
}

// delete deletes the objects, one by one if the store cannot delete several at once. Those that do not exist are ignored.
func (s *store) delete(ctx context.Context, bucket string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	response, err := objects.BulkDelete(ctx, s.api, bucket, names).Extract()
	var code gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &code) {
		switch code.Actual {
		case http.StatusNoContent, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return s.deleteEach(ctx, bucket, names)
		}
	}
	if err != nil {
		return client.Classify(err)
	}
	if len(response.Errors) > 0 {
		class, status := platform.ClassTransient, "no status"
		if problem := response.Errors[0]; len(problem) > 1 { // its object and why
			status = problem[1]
		}
		if strings.HasPrefix(status, "403") {
			class = platform.ClassForbidden
		}
		return platform.NewError(class, "%d of %d objects were not deleted: %s", len(response.Errors), len(names), platform.Printable(status))
	}
	return nil
}

func (s *store) deleteEach(ctx context.Context, bucket string, names []string) error {
	for _, name := range names {
		if err := client.IgnoreNotFound(objects.Delete(ctx, s.api, bucket, name, nil).Err); err != nil {
			return err
		}
	}
	return nil
}

// Usage implements backup.Store.
func (s *store) Usage(ctx context.Context, bucket, prefix string) (usage backup.Usage, err error) {
	defer backup.InBucket(bucket, &err)
	usage.Complete = true
	for object, err := range s.objects(ctx, bucket, prefix) {
		switch {
		case client.IsNotFound(err):
			return usage, nil
		case err != nil:
			return backup.Usage{}, err
		case !usage.Add(object.Bytes, object.LastModified):
			return usage, nil
		}
	}
	return usage, nil
}
