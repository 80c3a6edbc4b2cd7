// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ValidateUpdate validates the update of a Shoot's worker pools. A zone must not replace another whose machine deployment has the same
// name. For pools that are updated in place, changes that need new machines are refused at sites that the pool keeps. fldPath is the path
// of the pools.
func (v *WorkerValidator) ValidateUpdate(oldWorkers, newWorkers []gardencorev1beta1.Worker, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for i := range newWorkers {
		worker, idxPath := &newWorkers[i], fldPath.Index(i)
		before := lists.Find(oldWorkers, func(w *gardencorev1beta1.Worker) bool { return w.Name == worker.Name })
		if before == nil {
			continue
		}
		allErrs = append(allErrs, validateReplacedZones(before.Zones, worker.Zones, idxPath.Child("zones"))...)
		oldSites := v.SitesOf(before.Zones)
		stays := slices.DeleteFunc(v.SitesOf(worker.Zones), func(site string) bool { return !slices.Contains(oldSites, site) })
		if !v1beta1helper.IsUpdateStrategyInPlace(worker.UpdateStrategy) {
			for _, name := range stays {
				site := helper.FindSite(v.profile, name)
				allErrs = append(allErrs, validateFor(v1alpha1.PlatformsOf(site), func(r rules) field.ErrorList {
					return r.rollingUpdate(worker, before, site, idxPath)
				})...)
			}
			continue
		}
		allErrs = append(allErrs, immutable(worker.DataVolumes, before.DataVolumes, idxPath.Child("dataVolumes"))...)

		oldConfig, newConfig := workerConfigOf(before), workerConfigOf(worker)
		configPath := idxPath.Child("providerConfig")
		allErrs = append(allErrs, immutable(newConfig.DataVolumes, oldConfig.DataVolumes, configPath.Child("dataVolumes"))...)
		for _, site := range stays {
			sitePath := configPath.Child("sites")
			if index := slices.IndexFunc(newConfig.Sites, func(s v1alpha1.WorkerSite) bool { return s.Name == site }); index >= 0 {
				sitePath = sitePath.Index(index)
			}
			allErrs = append(allErrs, validateAll(func(r rules) field.ErrorList {
				return r.inPlaceUpdate(workerSite(newConfig, site), workerSite(oldConfig, site), sitePath)
			})...)
		}
	}
	return allErrs
}

// validateReplacedZones refuses a zone that would take over the machine deployment of a removed zone.
func validateReplacedZones(oldZones, newZones []string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	for i, zone := range newZones {
		if slices.Contains(oldZones, zone) {
			continue
		}
		for _, removed := range oldZones {
			if !slices.Contains(newZones, removed) && helper.ZoneHash(removed) == helper.ZoneHash(zone) {
				allErrs = append(allErrs,
					field.Invalid(fldPath.Index(i), zone,
						fmt.Sprintf("must not replace zone %q in one step: the names of their machine deployments are equal", removed)))
			}
		}
	}
	return allErrs
}

// workerConfigOf returns the configuration of a pool, empty if it is missing or malformed, which ValidateWorkers reports.
func workerConfigOf(worker *gardencorev1beta1.Worker) *v1alpha1.WorkerConfig {
	config, err := codec.Decode[v1alpha1.WorkerConfig](worker.ProviderConfig)
	if err != nil {
		return &v1alpha1.WorkerConfig{}
	}
	return config
}

func workerSite(config *v1alpha1.WorkerConfig, name string) *v1alpha1.WorkerSite {
	return lists.Find(config.Sites, func(s *v1alpha1.WorkerSite) bool { return s.Name == name })
}
