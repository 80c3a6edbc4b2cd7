// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// providers are the names of stores in etcd-druid.
var providers = map[v1alpha1.BackupStore]druidcorev1alpha1.StorageProvider{
	v1alpha1.BackupStoreS3:    "S3",
	v1alpha1.BackupStoreSwift: "Swift",
}

type mutator struct {
	reader client.Reader
}

// NewMutator returns a mutator of Etcds and EtcdCopyBackupsTasks. It reads the Secrets of stores with the reader, which must not be a
// cache: an Etcd is written as soon as its Secret is.
func NewMutator(reader client.Reader) extensionswebhook.Mutator {
	return &mutator{reader: reader}
}

// Mutate replaces the provider hybrid of a store by the one that the store's Secret names, and changes nothing else.
func (m *mutator) Mutate(ctx context.Context, object, _ client.Object) error {
	var stores []*druidcorev1alpha1.StoreSpec
	switch o := object.(type) {
	case *druidcorev1alpha1.Etcd:
		stores = append(stores, o.Spec.Backup.Store)
	case *druidcorev1alpha1.EtcdCopyBackupsTask:
		stores = append(stores, &o.Spec.SourceStore, &o.Spec.TargetStore)
	default:
		return fmt.Errorf("expected an Etcd or an EtcdCopyBackupsTask, got %T", object)
	}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	for _, store := range stores {
		if store == nil || store.Provider == nil || *store.Provider != v1alpha1.ProviderType {
			continue
		}
		provider, err := m.providerOf(ctx, object.GetNamespace(), store)
		if err != nil {
			return err
		}
		store.Provider = &provider
	}
	return nil
}

func (m *mutator) providerOf(ctx context.Context, namespace string, store *druidcorev1alpha1.StoreSpec) (druidcorev1alpha1.StorageProvider,
	error) {
	if store.SecretRef == nil {
		return "", fmt.Errorf("the store of provider %s has no Secret", v1alpha1.ProviderType)
	}
	secret, key := &corev1.Secret{}, client.ObjectKey{Namespace: namespace, Name: store.SecretRef.Name}
	if err := m.reader.Get(ctx, key, secret); err != nil {
		return "", fmt.Errorf("could not read the Secret of the store of provider %s: %w", v1alpha1.ProviderType, err)
	}
	provider, ok := providers[v1alpha1.BackupStore(secret.Data[v1alpha1.BackupSecretKeyStore])]
	if !ok {
		return "", fmt.Errorf("the Secret %s does not name a store that is supported in key %q: reconcile the BackupEntry of the Etcd, which "+
			"writes it", key, v1alpha1.BackupSecretKeyStore)
	}
	return provider, nil
}
