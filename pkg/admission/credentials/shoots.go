// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Names of the indexes for ShootsOf.
const (
	indexCredentialsRef     = "credentialsRef"
	indexSecretRef          = "secretRef"
	indexCredentialsBinding = "spec.credentialsBindingName"
	indexSecretBinding      = "spec.secretBindingName"
)

// AddIndexes adds indexes to a cache.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer, indexes ...Index) error {
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.Object, index.Field, index.Extract); err != nil {
			return fmt.Errorf("adding the index %s: %w", index.Field, err)
		}
	}
	return nil
}

// Index is an index of a cache.
type Index struct {
	// Object is an object of the indexed type.
	Object client.Object
	// Field is the name of the index.
	Field string
	// Extract returns the values of an object.
	Extract client.IndexerFunc
}

// Indexes returns the indexes for ShootsOf.
func Indexes() []Index {
	return []Index{
		{Object: &securityv1alpha1.CredentialsBinding{}, Field: indexCredentialsRef, Extract: func(object client.Object) []string {
			ref := object.(*securityv1alpha1.CredentialsBinding).CredentialsRef
			return []string{referenceOf(ref.Kind, ref.Namespace, ref.Name)}
		}},
		{Object: &gardencorev1beta1.SecretBinding{}, Field: indexSecretRef, Extract: func(object client.Object) []string {
			ref := object.(*gardencorev1beta1.SecretBinding).SecretRef
			return []string{referenceOf(kindSecret, ref.Namespace, ref.Name)}
		}},
		{Object: &gardencorev1beta1.Shoot{}, Field: indexCredentialsBinding, Extract: func(object client.Object) []string {
			return named(object.(*gardencorev1beta1.Shoot).Spec.CredentialsBindingName)
		}},
		{Object: &gardencorev1beta1.Shoot{}, Field: indexSecretBinding, Extract: func(object client.Object) []string {
			return named(object.(*gardencorev1beta1.Shoot).Spec.SecretBindingName)
		}},
	}
}

// ShootsOf returns the Shoots of this provider type that use the Secret or InternalSecret through any binding. The reader must be a cache
// with Indexes.
func ShootsOf(ctx context.Context, reader client.Reader, secret client.Object) ([]gardencorev1beta1.Shoot, error) {
	var kind string
	switch secret.(type) {
	case *corev1.Secret:
		kind = kindSecret
	case *gardencorev1beta1.InternalSecret:
		kind = kindInternalSecret
	default:
		return nil, fmt.Errorf("%T cannot hold credentials of type %s", secret, v1alpha1.ProviderType)
	}
	reference := referenceOf(kind, secret.GetNamespace(), secret.GetName())

	var shoots []gardencorev1beta1.Shoot
	for _, kind := range []struct {
		bindings                    client.ObjectList
		referenceIndex, shootsIndex string
	}{
		{&securityv1alpha1.CredentialsBindingList{}, indexCredentialsRef, indexCredentialsBinding},
		{&gardencorev1beta1.SecretBindingList{}, indexSecretRef, indexSecretBinding},
	} {
		if err := reader.List(ctx, kind.bindings, client.MatchingFields{kind.referenceIndex: reference}); err != nil {
			return nil, fmt.Errorf("reading the bindings of %s: %w", reference, err)
		}
		if err := meta.EachListItem(kind.bindings, func(binding runtime.Object) error {
			found, err := shootsOfBinding(ctx, reader, binding.(client.Object), kind.shootsIndex)
			shoots = append(shoots, found...)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return shoots, nil
}

func shootsOfBinding(ctx context.Context, reader client.Reader, binding client.Object, index string) ([]gardencorev1beta1.Shoot, error) {
	list := &gardencorev1beta1.ShootList{}
	if err := reader.List(ctx, list, client.InNamespace(binding.GetNamespace()), client.MatchingFields{index: binding.GetName()}); err != nil {
		return nil, fmt.Errorf("reading the Shoots of binding %s: %w", client.ObjectKeyFromObject(binding), err)
	}
	var shoots []gardencorev1beta1.Shoot
	for _, shoot := range list.Items {
		if shoot.Spec.Provider.Type == v1alpha1.ProviderType {
			shoots = append(shoots, shoot)
		}
	}
	return shoots, nil
}

func referenceOf(kind, namespace, name string) string {
	return kind + " " + namespace + "/" + name
}

func named(name *string) []string {
	if name == nil || *name == "" {
		return nil
	}
	return []string{*name}
}
