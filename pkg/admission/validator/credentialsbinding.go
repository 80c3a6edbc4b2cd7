// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
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
	bound, err := credentials.OfCredentialsBinding(ctx, v.secrets, binding)
	return validateBound(bound, err, field.NewPath("credentialsRef")).ToAggregate()
}

// validateBound validates the data of the Secret that a binding refers to. Anybody who reaches the endpoint can ask about any Secret of
// the garden: of one that nobody said is ours the answer is the same whatever it has, and whether or not it exists.
func validateBound(bound credentials.Bound, err error, fldPath *field.Path) field.ErrorList {
	if err != nil && !apierrors.IsNotFound(err) {
		return field.ErrorList{field.Forbidden(fldPath, err.Error())}
	}
	errs := validation.ValidateSecret(bound.Data, fldPath.Child("data"))
	if bound.Labelled || err == nil && len(errs) == 0 {
		return errs
	}
	return field.ErrorList{field.Forbidden(fldPath,
		fmt.Sprintf("it has no valid credentials of type %s; with the label %s%s=true the Secret itself is checked, and refused with the keys that are wrong",
			v1alpha1.ProviderType, v1beta1constants.LabelShootProviderPrefix, v1alpha1.ProviderType))}
}
