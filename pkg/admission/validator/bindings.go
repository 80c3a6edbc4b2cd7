// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
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

type bindingValidator struct {
	secrets client.Reader
}

// NewBindingValidator returns a validator of CredentialsBindings and SecretBindings. Secrets are read from the API server, not from the
// cache.
func NewBindingValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &bindingValidator{secrets: mgr.GetAPIReader()}
}

// Validate checks that a new binding refers to credentials of the right kind and format, and that a SecretBinding has no other provider
// type. Gardener itself checks that references are immutable.
func (v *bindingValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	var (
		types   []string
		fldPath *field.Path
	)
	switch binding := newObj.(type) {
	case *securityv1alpha1.CredentialsBinding:
		types, fldPath = []string{binding.Provider.Type}, field.NewPath("credentialsRef")
	case *gardencorev1beta1.SecretBinding:
		types, fldPath = v1beta1helper.GetSecretBindingTypes(binding), field.NewPath("secretRef")
	default:
		return fmt.Errorf("expected a CredentialsBinding or a SecretBinding, got %T", newObj)
	}
	if oldObj != nil || newObj.GetDeletionTimestamp() != nil || !slices.Contains(types, v1alpha1.ProviderType) {
		return nil
	}
	if len(types) > 1 {
		return field.ErrorList{field.Invalid(field.NewPath("provider", "type"), strings.Join(types, ","),
			fmt.Sprintf("must be %s alone: its Secrets have no keys of other providers", v1alpha1.ProviderType))}.ToAggregate()
	}
	bound, err := credentials.OfBinding(ctx, v.secrets, newObj)
	return validateBound(bound, err, fldPath).ToAggregate()
}

// validateBound validates the data of the Secret that a binding refers to. Everyone who can reach the endpoint can ask about any Secret of
// the garden. Unless the Secret is labelled as ours, the answer does therefore not depend on its content or existence.
func validateBound(bound credentials.Bound, err error, fldPath *field.Path) field.ErrorList {
	if err != nil && !apierrors.IsNotFound(err) {
		return field.ErrorList{field.Forbidden(fldPath, err.Error())}
	}
	errs := validation.ValidateSecret(bound.Data, fldPath.Child("data"))
	if bound.Labelled || err == nil && len(errs) == 0 {
		return errs
	}
	return field.ErrorList{field.Forbidden(fldPath, fmt.Sprintf(
		"it has no valid credentials of type %s; label the Secret with %s%s=true to see which keys are wrong",
		v1alpha1.ProviderType, v1beta1constants.LabelShootProviderPrefix, v1alpha1.ProviderType))}
}
