// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/minio/minio-go/v7"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/objectstore"
)

// retention is how long backups are locked.
const retention = 24 * time.Hour

func (l *Lab) startStore(ctx context.Context) error {
	var err error
	l.Store, err = objectstore.Start(ctx, filepath.Join(l.options.Dir, "objectstore"))
	return err
}

// backups keep those of the first seed in a bucket with object lock, and those of the second one in Swift.
func (l *Lab) backups() map[string]garden.Backup {
	locked := garden.Backup{
		Config: &v1alpha1.BackupBucketConfig{
			Store: v1alpha1.BackupStoreS3,
			S3: &v1alpha1.S3BackupStore{
				Endpoint: l.Store.Endpoint, Region: objectstore.Region, CABundle: l.Store.CA,
				Immutability: &v1alpha1.BackupImmutability{RetentionType: v1alpha1.BackupRetentionTypeBucket,
					RetentionPeriod: metav1.Duration{Duration: retention}, Mode: v1alpha1.BackupRetentionModeGovernance},
			},
		},
		Credentials: map[string]string{"accessKeyID": objectstore.AccessKeyID, "secretAccessKey": objectstore.SecretAccessKey},
	}
	swift := garden.Backup{
		Config: &v1alpha1.BackupBucketConfig{
			Store: v1alpha1.BackupStoreSwift,
			Swift: &v1alpha1.SwiftBackupStore{AuthURL: l.fronts.authURL, Region: l.access.Region},
		},
		Credentials: l.access.SiteCredentials(),
	}
	return map[string]garden.Backup{garden.SeedName: locked, garden.SecondName: swift}
}

// backupEntry is the shoot's entry in the garden, nil if there is none.
func (s *Shoot) backupEntry(ctx context.Context) (*gardencorev1beta1.BackupEntry, error) {
	entries := &gardencorev1beta1.BackupEntryList{}
	if err := s.lab.Client.List(ctx, entries, client.InNamespace(garden.Namespace)); err != nil {
		return nil, err
	}
	for i := range entries.Items {
		if strings.HasPrefix(entries.Items[i].Name, s.TechnicalID()+"--") {
			return &entries.Items[i], nil
		}
	}
	return nil, nil
}

// BackupError is what is wrong with the shoot's backups, and whether they are known to the garden.
func (s *Shoot) BackupError(ctx context.Context) (message string, known bool, err error) {
	entry, err := s.backupEntry(ctx)
	if err != nil || entry == nil {
		return "", false, err
	}
	if last := entry.Status.LastError; last != nil {
		message = last.Description
	}
	return message, true, nil
}

// Backups are the keys of the shoot's backups, with their versions.
func (s *Shoot) Backups(ctx context.Context) ([]string, error) {
	var keys []string
	err := s.eachBackup(ctx, func(_ *minio.Client, _ string, object minio.ObjectInfo) error {
		keys = append(keys, object.Key)
		return nil
	})
	return keys, err
}

// UnlockBackups deletes the shoot's backups as somebody who may do so before their retention ends.
func (s *Shoot) UnlockBackups(ctx context.Context) error {
	return s.eachBackup(ctx, func(store *minio.Client, bucket string, object minio.ObjectInfo) error {
		return store.RemoveObject(ctx, bucket, object.Key, minio.RemoveObjectOptions{VersionID: object.VersionID, GovernanceBypass: true})
	})
}

func (s *Shoot) eachBackup(ctx context.Context, do func(store *minio.Client, bucket string, object minio.ObjectInfo) error) error {
	store, err := s.lab.Store.Client()
	if err != nil {
		return err
	}
	buckets, err := store.ListBuckets(ctx)
	if err != nil {
		return err
	}
	for _, bucket := range buckets {
		options := minio.ListObjectsOptions{Prefix: s.TechnicalID() + "--", Recursive: true, WithVersions: true}
		for object := range store.ListObjectsIter(ctx, bucket.Name, options) {
			if object.Err != nil {
				return object.Err
			}
			if err := do(store, bucket.Name, object); err != nil {
				return err
			}
		}
	}
	return nil
}
