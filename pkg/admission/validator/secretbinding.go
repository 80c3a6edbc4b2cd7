// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"
	"slices"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

type secretBindingValidator struct {
	secrets client.Reader
}

// NewSecretBindingValidator returns a validator of SecretBindings. Secrets are read past the cache.
func NewSecretBindingValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &secretBindingValidator{secrets: mgr.GetAPIReader()}
}

// Validate checks that the binding is of no other type too and refers to a Secret of the right format. That the reference never changes
// is Gardener's to check.
func (v *secretBindingValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	binding, ok := newObj.(*gardencorev1beta1.SecretBinding)
	if !ok {
		return fmt.Errorf("a SecretBinding was expected, it is a %T", newObj)
	}
	types := v1beta1helper.GetSecretBindingTypes(binding)
	if oldObj != nil || binding.DeletionTimestamp != nil || !slices.Contains(types, v1alpha1.ProviderType) {
		return nil
	}
	if len(types) > 1 {
		return field.ErrorList{field.Invalid(field.NewPath("provider", "type"), binding.Provider.Type,
			fmt.Sprintf("must be %s alone: its Secrets have no keys of other providers", v1alpha1.ProviderType))}.ToAggregate()
	}
	bound, err := credentials.OfSecretBinding(ctx, v.secrets, binding)
	return validateBound(bound, err, field.NewPath("secretRef")).ToAggregate()
}
