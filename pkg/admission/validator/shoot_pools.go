// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// validatePools validates the pools that are new or changed. Gardener's own check of machine types and images looks at neither zones nor
// sites, so both are checked again whenever the zones, the type, the image or the volumes of a pool change; what else was wrong with
// it before stays allowed.
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
				errs = without(errs, known)
			} else if sameJSON(before.ProviderConfig, pool.ProviderConfig) {
				errs = without(errs, under(idxPath.Child("providerConfig"), known))
			}
			allErrs = append(allErrs, errs...)
		}
	}
	if c.old != nil {
		allErrs = append(allErrs, validator.ValidateUpdate(c.old.pools(), c.new.pools(), workersPath)...)
	}
	return allErrs
}

// usableSites returns an infrastructure with the sites that pools may use. A site that is taken away is among them, because all pools
// that use it are told at once elsewhere. If the infrastructure cannot be read it is each site of the region.
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

func (d *document) pool(name string) *gardencorev1beta1.Worker {
	if d == nil {
		return nil
	}
	pools := d.pools()
	if i := slices.IndexFunc(pools, func(w gardencorev1beta1.Worker) bool { return w.Name == name }); i >= 0 {
		return &pools[i]
	}
	return nil
}

func samePool(a, b *gardencorev1beta1.Worker) bool {
	if !sameJSON(a.ProviderConfig, b.ProviderConfig) {
		return false
	}
	one, other := *a, *b
	one.ProviderConfig, other.ProviderConfig = nil, nil
	return equality.Semantic.DeepEqual(one, other)
}

// sameMachines returns whether the machines of a pool stay what they are, and where.
func sameMachines(a, b *gardencorev1beta1.Worker) bool {
	return equality.Semantic.DeepEqual(a.Zones, b.Zones) &&
		a.Machine.Type == b.Machine.Type &&
		equality.Semantic.DeepEqual(a.Machine.Image, b.Machine.Image) &&
		equality.Semantic.DeepEqual(a.Volume, b.Volume) &&
		equality.Semantic.DeepEqual(a.DataVolumes, b.DataVolumes)
}

// under returns the errors of a field and of what is in it.
func under(fldPath *field.Path, errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(err *field.Error) bool {
		rest, ok := strings.CutPrefix(err.Field, fldPath.String())
		return !ok || rest != "" && rest[0] != '.' && rest[0] != '['
	})
}
