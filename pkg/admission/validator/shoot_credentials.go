// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"errors"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// validateCredentials checks that the Shoot's Secret has what each of its sites needs, when a site or the binding is new. A binding or a
// Secret that does not exist is Gardener's to tell.
func (v *shootValidator) validateCredentials(ctx context.Context, c *change) field.ErrorList {
	var (
		sites = c.new.sites(c.profile)
		old   = c.old.sites(c.profile)
		added = slices.ContainsFunc(sites, func(s validation.SiteCredentials) bool { return !slices.Contains(old, s) })
		moved = c.old == nil || c.bindingChanged()
	)
	if !added && !moved {
		return nil
	}

	bindingPath := bindingPath(c.new.shoot)
	data, errs := v.credentialsOf(ctx, c.new.shoot, bindingPath)
	if data == nil {
		return errs
	}
	validate := func(sites []validation.SiteCredentials) field.ErrorList {
		names := make([]string, len(sites))
		for i, site := range sites {
			names[i] = site.Site
		}
		return append(validation.ValidateCredentials(data, sites, bindingPath),
			validation.ValidateVCenterLogins(data, names, c.profile.Config, bindingPath)...)
	}
	allErrs := validate(sites)
	if !moved {
		return without(allErrs, validate(old))
	}
	if c.old == nil {
		return allErrs
	}
	oldData, _ := v.credentialsOf(ctx, c.old.shoot, bindingPath)
	if oldData == nil {
		return allErrs
	}
	for _, err := range credentials.ValidateChange(c.old.shoot, oldData, data, c.profile.Config, bindingPath) {
		if !slices.ContainsFunc(allErrs, func(other *field.Error) bool { return other.Field == err.Field }) {
			allErrs = append(allErrs, err)
		}
	}
	return allErrs
}

// credentialsOf returns the data of the Shoot's Secret, and nothing if there is none.
func (v *shootValidator) credentialsOf(ctx context.Context, shoot *gardencorev1beta1.Shoot, fldPath *field.Path) (map[string][]byte,
	field.ErrorList) {
	data, err := credentials.OfShoot(ctx, v.cache, v.api, shoot)
	switch {
	case err == nil && data == nil:
		return map[string][]byte{}, nil
	case err == nil:
		return data, nil
	case apierrors.IsNotFound(err), errors.Is(err, credentials.ErrNoBinding):
		return nil, nil
	default:
		return nil, field.ErrorList{field.Forbidden(fldPath, err.Error())}
	}
}

func bindingPath(shoot *gardencorev1beta1.Shoot) *field.Path {
	if shoot.Spec.CredentialsBindingName == nil && shoot.Spec.SecretBindingName != nil {
		return specPath.Child("secretBindingName")
	}
	return specPath.Child("credentialsBindingName")
}
