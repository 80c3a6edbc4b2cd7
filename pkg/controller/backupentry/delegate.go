// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backupentry

import (
	"context"
	"errors"
	"strings"

	"github.com/gardener/gardener/extensions/pkg/controller/backupentry/genericactuator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	sourcePrefix = v1beta1constants.BackupSourcePrefix + "-"

	reasonKept   = "BackupsKept"
	actionDelete = "Delete"
)

type delegate struct {
	opener backupstore.Opener
	events eventnote.Writer
}

// NewDelegate returns what the library's actuator for BackupEntries needs to know of stores.
func NewDelegate(opener backupstore.Opener, recorder events.EventRecorder) genericactuator.BackupEntryDelegate {
	return &delegate{opener: opener, events: eventnote.Writer{EventRecorder: recorder}}
}

// GetETCDSecretData returns the keys that etcd-backup-restore reads, and the one that the webhook for Etcds reads. data is that of the
// Secret of the BackupEntry with the name of the bucket. It sends no request to the store.
func (d *delegate) GetETCDSecretData(_ context.Context, _ logr.Logger, entry *extensionsv1alpha1.BackupEntry,
	data map[string][]byte) (map[string][]byte, error) {
	config, err := configOf(entry)
	if err != nil {
		return nil, backupstore.Result(err)
	}
	delete(data, v1beta1constants.DataKeyBackupBucketName)
	kind, access, err := d.opener.Access(config, data, entry.Spec.SecretRef)
	if err != nil {
		return nil, backupstore.Result(err)
	}
	result := kind.SecretData(access)
	result[v1beta1constants.DataKeyBackupBucketName] = []byte(entry.Spec.BucketName)
	result[v1alpha1.BackupSecretKeyStore] = []byte(config.Store)
	return result, nil
}

// Delete deletes the backups of the entry. Those of a source entry, which are no longer needed after they were copied, are kept if the
// entry that they were copied to is in the same bucket, or if they are locked: gardenlet restores a control plane until its source entry is
// gone, and the shoot cannot be changed meanwhile.
func (d *delegate) Delete(ctx context.Context, log logr.Logger, entry *extensionsv1alpha1.BackupEntry) error {
	return backupstore.Result(d.delete(ctx, log, entry))
}

func (d *delegate) delete(ctx context.Context, log logr.Logger, entry *extensionsv1alpha1.BackupEntry) error {
	ctx, cancel := context.WithTimeout(ctx, backupstore.OperationTimeout)
	defer cancel()
	if kept, err := d.isShared(ctx, entry); kept || err != nil {
		return err
	}
	config, err := configOf(entry)
	if err != nil {
		return err
	}
	store, err := d.opener.Open(ctx, config, entry.Spec.SecretRef)
	if err != nil {
		return err
	}
	prefix := prefixOf(entry)
	if err := store.DeletePrefix(ctx, entry.Spec.BucketName, prefix); err != nil {
		var locked *backup.LockedError
		if isSource(entry) && errors.As(err, &locked) {
			d.events.Warning(entry, reasonKept, actionDelete, "Backups are kept: %v. They are deleted with the bucket, or with the shoot if its "+
				"control plane moves back", locked)
			backupstore.Forget(entry.Spec.BucketName, entry.Name)
			return nil
		}
		observeErr := backupstore.Observe(ctx, store, entry.Spec.BucketName, entry.Name, prefix, backupstore.StateDeleting)
		if observeErr != nil {
			log.Error(observeErr, "Could not measure what is left")
		}
		return err
	}
	backupstore.Forget(entry.Spec.BucketName, entry.Name)
	return nil
}

// isShared returns whether the entry is a source, and the entry of the same backups is in the same bucket.
func (d *delegate) isShared(ctx context.Context, entry *extensionsv1alpha1.BackupEntry) (bool, error) {
	if !isSource(entry) {
		return false, nil
	}
	name := strings.TrimPrefix(entry.Name, sourcePrefix)
	other := &extensionsv1alpha1.BackupEntry{}
	if err := d.opener.Reader.Get(ctx, client.ObjectKey{Name: name}, other); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, platform.NewError(platform.ClassTransient, "BackupEntry %s: %w", name, err)
	}
	if other.Spec.BucketName != entry.Spec.BucketName {
		return false, nil
	}
	d.events.Warning(entry, reasonKept, actionDelete, "Backups are kept: they are those of BackupEntry %s in the same bucket", name)
	return true, nil
}

func isSource(entry *extensionsv1alpha1.BackupEntry) bool {
	return strings.HasPrefix(entry.Name, sourcePrefix)
}

// prefixOf returns the prefix of the keys of the entry's backups.
func prefixOf(entry *extensionsv1alpha1.BackupEntry) string {
	return strings.TrimPrefix(entry.Name, sourcePrefix) + "/"
}

// configOf returns the configuration of the store of the entry's bucket.
func configOf(entry *extensionsv1alpha1.BackupEntry) (*v1alpha1.BackupBucketConfig, error) {
	const name = "spec.backupBucketProviderStatus"
	config, err := backupstore.Applied(name, entry.Spec.BackupBucketProviderStatus)
	if err == nil && config == nil {
		err = platform.NewError(platform.ClassConfiguration,
			"%s is missing: reconcile BackupBucket %s, which Gardener copies it from, and then this BackupEntry", name, entry.Spec.BucketName)
	}
	return config, err
}
