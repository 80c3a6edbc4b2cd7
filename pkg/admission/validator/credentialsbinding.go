// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

type credentialsBindingValidator struct {
	secrets client.Reader
}

// NewCredentialsBindingValidator returns a validator of CredentialsBindings. Secrets are read past the cache.
func NewCredentialsBindingValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &credentialsBindingValidator{secrets: mgr.GetAPIReader()}
}

// Validate checks that the binding refers to credentials of the right kind and format. That the reference never changes is Gardener's to
// check.
func (v *credentialsBindingValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	binding, ok := newObj.(*securityv1alpha1.CredentialsBinding)
	if !ok {
		return fmt.Errorf("a CredentialsBinding was expected, it is a %T", newObj)
	}
	if oldObj != nil || binding.DeletionTimestamp != nil || binding.Provider.Type != v1alpha1.ProviderType {
		return nil
	}
	data, err := credentials.OfCredentialsBinding(ctx, v.secrets, binding)
	return validateBound(data, err, field.NewPath("credentialsRef")).ToAggregate()
}

// validateBound validates the data of the Secret that a binding refers to. A Secret that does not exist is Gardener's to tell.
func validateBound(data map[string][]byte, err error, fldPath *field.Path) field.ErrorList {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return field.ErrorList{field.Forbidden(fldPath, err.Error())}
	}
	return validation.ValidateSecret(data, fldPath.Child("data"))
}
