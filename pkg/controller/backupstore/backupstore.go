// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backupstore opens the stores of backups for controllers, and says how much is in them.
package backupstore

import (
	"context"
	"errors"
	"slices"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/setup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// OperationTimeout limits what is asked of a store in one reconciliation. It is less than the timeout of the reconciliation, so that its
	// result can be written.
	OperationTimeout = 2 * time.Minute
	// FirstBackoff is the first delay of the exponential back-off after errors.
	FirstBackoff = time.Second
	// LastBackoff is the longest delay of the exponential back-off after errors.
	LastBackoff = 5 * time.Minute

	// progressInterval is the pause in a deletion that takes several reconciliations.
	progressInterval = 5 * time.Second
	// minLockedInterval and maxLockedInterval limit the pause in a deletion that waits for the end of a retention.
	minLockedInterval = time.Minute
	maxLockedInterval = time.Hour
	// maxErrors is the maximum number of reported errors of a document or a Secret.
	maxErrors = 3
)

// AddOptions are options to apply when adding a controller of backups to the manager.
type AddOptions struct {
	setup.Options

	// Stores are the supported kinds of stores.
	Stores backup.Stores
}

// Opener returns what opens the stores with Secrets from the API server.
func (o AddOptions) Opener(mgr manager.Manager) Opener {
	return Opener{Reader: mgr.GetAPIReader(), Stores: o.Stores}
}

// Classes returns those of the configured extension classes whose objects are supported: those of seeds, which have the class of shoots,
// and those of gardens.
func Classes(configured []extensionsv1alpha1.ExtensionClass) []extensionsv1alpha1.ExtensionClass {
	return slices.DeleteFunc(slices.Clone(configured), func(class extensionsv1alpha1.ExtensionClass) bool {
		return class != extensionsv1alpha1.ExtensionClassShoot && class != extensionsv1alpha1.ExtensionClassGarden
	})
}

// Config returns the configuration in the spec of a BackupBucket of the region, with its defaults. Errors are of ClassConfiguration.
func Config(raw *runtime.RawExtension, region string) (*v1alpha1.BackupBucketConfig, error) {
	config, err := codec.Decode[v1alpha1.BackupBucketConfig](raw)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "spec.providerConfig: %w", err)
	}
	v1alpha1.SetBackupBucketConfigDefaults(config, region)
	return config, invalid("", validation.ValidateBackupBucketConfig(config, field.NewPath("spec", "providerConfig")))
}

// ConfigUpdate returns an error of ClassConfiguration if the configuration must not replace the applied one.
func ConfigUpdate(config, applied *v1alpha1.BackupBucketConfig) error {
	return invalid("", validation.ValidateBackupBucketConfigUpdate(config, applied, field.NewPath("spec", "providerConfig")))
}

// Applied returns the configuration in the provider status of a BackupBucket, nil if there is none. The name of the field is used in
// errors.
func Applied(name string, raw *runtime.RawExtension) (*v1alpha1.BackupBucketConfig, error) {
	status, err := codec.Decode[v1alpha1.BackupBucketStatus](raw)
	if errors.Is(err, codec.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s: %w", name, err)
	}
	return &status.Config, invalid("", validation.ValidateBackupBucketConfig(&status.Config, field.NewPath(name, "config")))
}

// Opener opens stores.
type Opener struct {
	// Reader reads from the API server. Rotated credentials do not trigger another reconciliation, so it must not be a cache.
	Reader client.Reader
	// Stores are the supported kinds of stores.
	Stores backup.Stores
}

// Open returns the store with the configuration and the credentials in the Secret.
func (o Opener) Open(ctx context.Context, config *v1alpha1.BackupBucketConfig, ref corev1.SecretReference) (backup.Store, error) {
	secret, err := kubernetesutils.GetSecretByReference(ctx, o.Reader, &ref)
	if apierrors.IsNotFound(err) {
		return nil, platform.NewError(platform.ClassNotFound, "spec.secretRef: %w", err)
	}
	if err != nil {
		return nil, platform.NewError(platform.ClassTransient, "spec.secretRef: %w", err)
	}
	kind, access, err := o.Access(config, secret.Data, ref)
	if err != nil {
		return nil, err
	}
	return kind.Open(ctx, access)
}

// Access returns the kind of the store, and how it is accessed with the data of the Secret, which is only named in errors.
func (o Opener) Access(config *v1alpha1.BackupBucketConfig, data map[string][]byte, ref corev1.SecretReference) (backup.Opener,
	backup.Access, error) {
	kind, ok := o.Stores[config.Store]
	if !ok {
		return nil, backup.Access{}, platform.NewError(platform.ClassConfiguration, "store %q is not supported", config.Store)
	}
	err := invalid("Secret "+ref.Namespace+"/"+ref.Name+": ", validation.ValidateBackupCredentials(config.Store, data, field.NewPath("data")))
	return kind, backup.Access{Config: config, Credentials: data}, err
}

// invalid returns an error with the first errors, nil if there are none.
func invalid(prefix string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "%s%w", prefix, errs[:min(len(errs), maxErrors)].ToAggregate())
}

// Result adds codes to the error of an actuator, and says when an operation continues that is in progress or waits for a retention.
func Result(err error) error {
	if err == nil {
		return nil
	}
	var (
		locked     *backup.LockedError
		classified *platform.Error
		after      time.Duration
	)
	switch {
	case errors.As(err, &locked):
		after = maxLockedInterval
		if !locked.Until.IsZero() {
			after = min(max(time.Until(locked.Until), minLockedInterval), maxLockedInterval)
		}
	case platform.IsProgress(err):
		after = progressInterval
	case errors.As(err, &classified):
		after = classified.RetryAfter
	}
	if after <= 0 {
		return errorcodes.WithCodes(err)
	}
	return &reconcilerutils.RequeueAfterError{Cause: errorcodes.WithCodes(err), RequeueAfter: after}
}
