// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

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
	// Labelled is whether somebody said that it has credentials of our type: Gardener, when it knew the binding, or who wrote it.
	Labelled bool
}

func bound(data map[string][]byte, labels map[string]string) Bound {
	return Bound{Data: data, Labelled: labels[v1beta1constants.LabelShootProviderPrefix+v1alpha1.ProviderType] == "true"}
}

// ErrNoBinding is the error of a Shoot that names no binding.
var ErrNoBinding = errors.New("the Shoot has neither credentialsBindingName nor secretBindingName")

// OfShoot returns the data of the Secret or InternalSecret that the Shoot's binding refers to. Of a binding or a Secret that does
// not exist the error satisfies apierrors.IsNotFound, of a Shoot without binding it is ErrNoBinding. Credentials of another kind are
// an error. Bindings, whose references cannot change, are read from the cache, and those that are too new for it from the API, which
// has the Secrets, too.
func OfShoot(ctx context.Context, cache, api client.Reader, shoot *gardencorev1beta1.Shoot) (map[string][]byte, error) {
	switch {
	case shoot.Spec.CredentialsBindingName != nil && *shoot.Spec.CredentialsBindingName != "":
		binding := &securityv1alpha1.CredentialsBinding{}
		key := client.ObjectKey{Namespace: shoot.Namespace, Name: *shoot.Spec.CredentialsBindingName}
		if err := getBinding(ctx, cache, api, key, binding); err != nil {
			return nil, fmt.Errorf("reading CredentialsBinding %s: %w", key, err)
		}
		found, err := OfCredentialsBinding(ctx, api, binding)
		return found.Data, err
	case shoot.Spec.SecretBindingName != nil && *shoot.Spec.SecretBindingName != "":
		binding := &gardencorev1beta1.SecretBinding{}
		key := client.ObjectKey{Namespace: shoot.Namespace, Name: *shoot.Spec.SecretBindingName}
		if err := getBinding(ctx, cache, api, key, binding); err != nil {
			return nil, fmt.Errorf("reading SecretBinding %s: %w", key, err)
		}
		found, err := OfSecretBinding(ctx, api, binding)
		return found.Data, err
	}
	return nil, ErrNoBinding
}

func getBinding(ctx context.Context, cache, api client.Reader, key client.ObjectKey, binding client.Object) error {
	err := cache.Get(ctx, key, binding)
	if apierrors.IsNotFound(err) {
		return api.Get(ctx, key, binding)
	}
	return err
}

// OfCredentialsBinding is OfShoot for the binding of a Shoot.
func OfCredentialsBinding(ctx context.Context, reader client.Reader, binding *securityv1alpha1.CredentialsBinding) (Bound, error) {
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
		return Bound{}, fmt.Errorf("CredentialsBinding %s refers to a %s: the credentials of type %s are a %s or an %s",
			client.ObjectKeyFromObject(binding), kind.Kind, v1alpha1.ProviderType, kindSecret, kindInternalSecret)
	}
}

// OfSecretBinding is OfShoot for the binding of a Shoot.
func OfSecretBinding(ctx context.Context, reader client.Reader, binding *gardencorev1beta1.SecretBinding) (Bound, error) {
	return secretData(ctx, reader, client.ObjectKey{Namespace: binding.SecretRef.Namespace, Name: binding.SecretRef.Name})
}

func secretData(ctx context.Context, reader client.Reader, key client.ObjectKey) (Bound, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, key, secret); err != nil {
		return Bound{}, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	return bound(secret.Data, secret.Labels), nil
}
