// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

var dataPath = field.NewPath("data")

type secretValidator struct {
	cache client.Reader
}

// NewSecretValidator returns a validator of Secrets and InternalSecrets that hold the credentials of shoots.
func NewSecretValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &secretValidator{cache: mgr.GetClient()}
}

// Validate checks the keys and formats of the data; of an update only what changes, and that Shoots keep the credentials that they need.
func (v *secretValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	if newObj.GetDeletionTimestamp() != nil {
		return nil
	}
	newData, err := dataOf(newObj)
	if err != nil {
		return err
	}
	if oldObj == nil {
		return validation.ValidateSecret(newData, dataPath).ToAggregate()
	}
	oldData, err := dataOf(oldObj)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(oldData, newData) {
		return nil
	}
	allErrs := validation.ValidateSecretUpdate(newData, oldData, dataPath)
	allErrs = append(allErrs, v.validateShoots(ctx, newObj, oldData, newData)...)
	return unique(allErrs).ToAggregate()
}

// validateShoots checks that the new data keeps what Shoots need of the old data. Shoots whose CloudProfile cannot be read are ignored, so
// that they do not block the rotation of credentials.
func (v *secretValidator) validateShoots(ctx context.Context, secret client.Object, oldData, newData map[string][]byte) field.ErrorList {
	shoots, err := credentials.ShootsOf(ctx, v.cache, secret)
	if err != nil {
		return field.ErrorList{field.InternalError(dataPath, err)}
	}
	var (
		allErrs field.ErrorList
		configs = map[string]*v1alpha1.CloudProfileConfig{}
	)
	for i := range shoots {
		shoot := &shoots[i]
		key := profileOf(shoot)
		config, known := configs[key]
		if !known {
			if p, err := profile.Of(ctx, v.cache, shoot); err == nil {
				config = p.Config
			}
			configs[key] = config
		}
		allErrs = append(allErrs, credentials.ValidateChange(shoot, oldData, newData, config, dataPath)...)
	}
	return allErrs
}

func dataOf(object client.Object) (map[string][]byte, error) {
	switch secret := object.(type) {
	case *corev1.Secret:
		return secret.Data, nil
	case *gardencorev1beta1.InternalSecret:
		return secret.Data, nil
	default:
		return nil, fmt.Errorf("expected a Secret or an InternalSecret, got %T", object)
	}
}

// unique keeps the first error of each type and field: a value may be invalid for the Secret and for several Shoots.
func unique(errs field.ErrorList) field.ErrorList {
	var (
		result field.ErrorList
		seen   = map[string]bool{}
	)
	for _, err := range errs {
		if key := string(err.Type) + err.Field; !seen[key] {
			seen[key] = true
			result = append(result, err)
		}
	}
	return result
}
