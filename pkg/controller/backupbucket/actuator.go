// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backupbucket

import (
	"context"

	"github.com/gardener/gardener/extensions/pkg/controller/backupbucket"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/backupstore"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	reasonUnsupported = "NotSupportedByStore"
	reasonKept        = "BucketKept"
	actionReconcile   = "Reconcile"
	actionDelete      = "Delete"
)

type actuator struct {
	client client.Client
	opener backupstore.Opener
	events eventnote.Writer
}

// NewActuator returns the actuator for BackupBuckets.
func NewActuator(c client.Client, opener backupstore.Opener, recorder events.EventRecorder) backupbucket.Actuator {
	return &actuator{client: c, opener: opener, events: eventnote.Writer{EventRecorder: recorder}}
}

// Reconcile creates the bucket and applies the configuration to it. The bucket has the name of the BackupBucket, which is also its owner.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, bucket *extensionsv1alpha1.BackupBucket) error {
	return backupstore.Result(a.reconcile(ctx, log, bucket))
}

func (a *actuator) reconcile(ctx context.Context, log logr.Logger, bucket *extensionsv1alpha1.BackupBucket) error {
	config, err := backupstore.Config(bucket.Spec.ProviderConfig, bucket.Spec.Region)
	if err != nil {
		return err
	}
	applied, err := backupstore.Applied("status.providerStatus", bucket.Status.ProviderStatus)
	if err != nil {
		return err
	}
	if applied != nil {
		if err := backupstore.ConfigUpdate(config, applied); err != nil {
			return err
		}
	}
	storeCtx, cancel := context.WithTimeout(ctx, backupstore.OperationTimeout)
	defer cancel()
	store, err := a.opener.Open(storeCtx, config, bucket.Spec.SecretRef)
	if err != nil {
		return err
	}
	// It is written before the bucket is created, so that without it there is nothing to delete.
	if err := a.announce(ctx, bucket, config, applied); err != nil {
		return err
	}
	warnings, err := store.EnsureBucket(storeCtx, bucket.Name, bucket.Name)
	for _, warning := range warnings {
		log.Info("The store does not support what is useful", "warning", warning)
		a.events.Warning(bucket, reasonUnsupported, actionReconcile, "%s", warning)
	}
	return err
}

// announce writes the configuration to the status, from which Gardener copies it to the BackupEntries of the bucket.
func (a *actuator) announce(ctx context.Context, bucket *extensionsv1alpha1.BackupBucket,
	config, applied *v1alpha1.BackupBucketConfig) error {
	status := &v1alpha1.BackupBucketStatus{Config: *config}
	if applied != nil && equality.Semantic.DeepEqual(*applied, status.Config) {
		return nil
	}
	raw, err := codec.Encode(status)
	if err != nil {
		return err
	}
	patch := client.MergeFrom(bucket.DeepCopy())
	bucket.Status.ProviderStatus = raw
	if err := a.client.Status().Patch(ctx, bucket, patch); err != nil {
		return platform.NewError(platform.ClassTransient, "status: %w", err)
	}
	return nil
}

// Delete deletes the bucket with all objects if it has the mark of the BackupBucket. It does not exist if it was not announced.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, bucket *extensionsv1alpha1.BackupBucket) error {
	return backupstore.Result(a.delete(ctx, log, bucket))
}

func (a *actuator) delete(ctx context.Context, log logr.Logger, bucket *extensionsv1alpha1.BackupBucket) error {
	applied, err := backupstore.Applied("status.providerStatus", bucket.Status.ProviderStatus)
	if err != nil || applied == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, backupstore.OperationTimeout)
	defer cancel()
	store, err := a.opener.Open(ctx, applied, bucket.Spec.SecretRef)
	if err != nil {
		return err
	}
	if err := store.DeleteBucket(ctx, bucket.Name, bucket.Name); err != nil {
		if observeErr := backupstore.Observe(ctx, store, bucket.Name, "", "", backupstore.StateDeleting); observeErr != nil {
			log.Error(observeErr, "Could not measure what is left")
		}
		return err
	}
	backupstore.Forget(bucket.Name, "")
	if usage, err := store.Usage(ctx, bucket.Name, ""); err == nil && usage.Objects > 0 {
		log.Info("The bucket does not belong to the BackupBucket and is kept", "bucket", bucket.Name)
		a.events.Warning(bucket, reasonKept, actionDelete, "Bucket %s is kept: it does not have the mark of the BackupBucket", bucket.Name)
	}
	return nil
}
