// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// validatePools validates the pools that are new or changed. Gardener does not check machine types and images against zones and sites, so
// this is done whenever the zones, the type, the image or the volumes of a pool change. Other mistakes that the pool had before are
// tolerated.
func (c *change) validatePools() field.ErrorList {
	var (
		allErrs   field.ErrorList
		validator = validation.NewWorkerValidator(c.profile.Spec, c.profile.Config, c.usableSites())
		compared  = c.compared()
	)
	for i := range c.new.pools() {
		var (
			pool    = &c.new.pools()[i]
			idxPath = workersPath.Index(i)
			before  = compared.pool(pool.Name)
		)
		switch {
		case before == nil:
			allErrs = append(allErrs, validator.Validate(pool, idxPath)...)
		case !samePool(before, pool):
			errs, known := validator.Validate(pool, idxPath), validator.Validate(before, idxPath)
			if sameMachines(before, pool) {
				errs = validation.Without(errs, known)
			} else if sameJSON(before.ProviderConfig, pool.ProviderConfig) {
				errs = validation.Without(errs, under(idxPath.Child("providerConfig"), known))
			}
			allErrs = append(allErrs, errs...)
		}
	}
	if c.old != nil {
		allErrs = append(allErrs, validator.ValidateUpdate(c.old.pools(), c.new.pools(), workersPath)...)
	}
	return allErrs
}

// usableSites returns an infrastructure with the sites that pools may use. It includes removed sites, because their pools are reported by
// ValidateRemovedSites, and all sites of the region if the infrastructure cannot be decoded.
func (c *change) usableSites() *v1alpha1.InfrastructureConfig {
	result := &v1alpha1.InfrastructureConfig{}
	switch {
	case c.new.infrastructure == nil:
		for _, site := range c.profile.Config.Sites {
			if site.Region == c.new.shoot.Spec.Region {
				result.Sites = append(result.Sites, v1alpha1.InfrastructureSite{Name: site.Name})
			}
		}
	case c.old != nil && c.old.infrastructure != nil:
		result.Sites = append(slices.Clone(c.new.infrastructure.Sites), c.old.infrastructure.Sites...)
	default:
		result.Sites = c.new.infrastructure.Sites
	}
	return result
}
