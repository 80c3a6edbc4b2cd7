// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package credentials finds the credentials of Shoots and the Shoots of credentials in the garden, and decides which credentials a Shoot
// needs.
package credentials

import (
	"context"
	"errors"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	kindSecret         = "Secret"
	kindInternalSecret = "InternalSecret"
)

// Bound is what a binding refers to.
type Bound struct {
	Data map[string][]byte
	// Labelled is true if Gardener or the owner labelled it as credentials of this provider type.
	Labelled bool
}

func bound(data map[string][]byte, labels map[string]string) Bound {
	return Bound{Data: data, Labelled: labels[v1beta1constants.LabelShootProviderPrefix+v1alpha1.ProviderType] == "true"}
}

// ErrNoBinding is returned for a Shoot that refers to no binding.
var ErrNoBinding = errors.New("the Shoot has neither credentialsBindingName nor secretBindingName")

// OfShoot returns the data of the Secret or InternalSecret that the Shoot's binding refers to. The error is ErrNoBinding if the Shoot
// refers to no binding, and satisfies apierrors.IsNotFound if the binding or the Secret does not exist. Other kinds of credentials are an
// error. Secrets are read from api. Bindings, whose references are immutable, are read from cache, or from api if cache does not have them
// yet.
func OfShoot(ctx context.Context, cache, api client.Reader, shoot *gardencorev1beta1.Shoot) (map[string][]byte, error) {
	var (
		kind    string
		binding client.Object
		key     = client.ObjectKey{Namespace: shoot.Namespace}
	)
	switch {
	case ptr.Deref(shoot.Spec.CredentialsBindingName, "") != "":
		kind, binding, key.Name = "CredentialsBinding", &securityv1alpha1.CredentialsBinding{}, *shoot.Spec.CredentialsBindingName
	case ptr.Deref(shoot.Spec.SecretBindingName, "") != "":
		kind, binding, key.Name = "SecretBinding", &gardencorev1beta1.SecretBinding{}, *shoot.Spec.SecretBindingName
	default:
		return nil, ErrNoBinding
	}
	err := cache.Get(ctx, key, binding)
	if apierrors.IsNotFound(err) {
		err = api.Get(ctx, key, binding)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind, key, err)
	}
	found, err := OfBinding(ctx, api, binding)
	return found.Data, err
}

// OfBinding returns the credentials that the CredentialsBinding or SecretBinding refers to.
func OfBinding(ctx context.Context, reader client.Reader, binding client.Object) (Bound, error) {
	switch binding := binding.(type) {
	case *gardencorev1beta1.SecretBinding:
		return secretData(ctx, reader, client.ObjectKey{Namespace: binding.SecretRef.Namespace, Name: binding.SecretRef.Name})
	case *securityv1alpha1.CredentialsBinding:
		ref := binding.CredentialsRef
		key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
		switch kind := ref.GroupVersionKind(); kind {
		case corev1.SchemeGroupVersion.WithKind(kindSecret):
			return secretData(ctx, reader, key)
		case gardencorev1beta1.SchemeGroupVersion.WithKind(kindInternalSecret):
			secret := &gardencorev1beta1.InternalSecret{}
			if err := reader.Get(ctx, key, secret); err != nil {
				return Bound{}, fmt.Errorf("reading InternalSecret %s: %w", key, err)
			}
			return bound(secret.Data, secret.Labels), nil
		default:
			return Bound{}, fmt.Errorf("CredentialsBinding %s refers to a %s: credentials of type %s must be a %s or an %s",
				client.ObjectKeyFromObject(binding), kind.Kind, v1alpha1.ProviderType, kindSecret, kindInternalSecret)
		}
	default:
		return Bound{}, fmt.Errorf("expected a CredentialsBinding or a SecretBinding, got %T", binding)
	}
}

func secretData(ctx context.Context, reader client.Reader, key client.ObjectKey) (Bound, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, key, secret); err != nil {
		return Bound{}, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	return bound(secret.Data, secret.Labels), nil
}
