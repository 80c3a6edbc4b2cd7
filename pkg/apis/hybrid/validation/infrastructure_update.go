// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ValidateInfrastructureConfigUpdate validates the change of a Shoot's configuration. networking is that of the Shoot;
// fldPath is the path of the configuration.
func ValidateInfrastructureConfigUpdate(oldConfig, newConfig *v1alpha1.InfrastructureConfig, networking *gardencorev1beta1.Networking,
	fldPath *field.Path) field.ErrorList {
	if oldConfig == nil {
		return nil
	}
	if newConfig == nil {
		return field.ErrorList{field.Required(fldPath, "must not be removed")}
	}

	networksPath, sitesPath := fldPath.Child("networks"), fldPath.Child("sites")
	allErrs := immutable(newConfig.Networks.Topology, oldConfig.Networks.Topology, networksPath.Child("topology"))
	allErrs = append(allErrs, immutable(newConfig.Networks.Nodes, oldConfig.Networks.Nodes, networksPath.Child("nodes"))...)

	for i := range newConfig.Sites {
		newSite, idxPath := &newConfig.Sites[i], sitesPath.Index(i)
		oldSite := findInfrastructureSite(oldConfig, newSite.Name)
		if oldSite == nil {
			continue
		}
		allErrs = append(allErrs, immutable(newSite.Nodes, oldSite.Nodes, idxPath.Child("nodes"))...)
		allErrs = append(allErrs, validateAll(func(r rules) field.ErrorList {
			return r.infrastructureUpdate(newSite, oldSite, idxPath)
		})...)
	}

	if oldConfig.Networks.Topology == v1alpha1.TopologyRouted && networking != nil && networking.Nodes != nil {
		if owner := siteWithRange(oldConfig, *networking.Nodes); owner != "" && findInfrastructureSite(newConfig, owner) == nil {
			allErrs = append(allErrs,
				field.Forbidden(sitesPath, fmt.Sprintf("site %q must not be removed: its nodes are the Shoot's spec.networking.nodes", owner)))
		}
	}
	return allErrs
}

// ValidateRemovedSites checks that no pool uses a site that was removed from the configuration. workers are the pools of the changed Shoot.
// fldPath is the path of the configuration.
func ValidateRemovedSites(oldConfig, newConfig *v1alpha1.InfrastructureConfig, workers []gardencorev1beta1.Worker,
	profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	if oldConfig == nil || newConfig == nil {
		return nil
	}
	var (
		allErrs field.ErrorList
		v       = NewWorkerValidator(nil, profile, oldConfig)
	)
	for _, site := range oldConfig.Sites {
		if findInfrastructureSite(newConfig, site.Name) != nil {
			continue
		}
		var pools []string
		for _, worker := range workers {
			if slices.Contains(v.SitesOf(worker.Zones), site.Name) {
				pools = append(pools, worker.Name)
			}
		}
		if len(pools) > 0 {
			allErrs = append(allErrs,
				field.Forbidden(fldPath.Child("sites"), fmt.Sprintf("site %q must not be removed: the pools %q have zones of it", site.Name, pools)))
		}
	}
	return allErrs
}

// ValidateReplacedSites checks that no site is added while one is removed that the same CSI driver could not serve: the nodes of a removed
// site need the driver until they are gone. fldPath is the path of the
// configuration.
func ValidateReplacedSites(oldConfig, newConfig *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig,
	fldPath *field.Path) field.ErrorList {
	if oldConfig == nil || newConfig == nil {
		return nil
	}
	var (
		allErrs   field.ErrorList
		sitesPath = fldPath.Child("sites")
	)
	for i, added := range newConfig.Sites {
		if findInfrastructureSite(oldConfig, added.Name) != nil {
			continue
		}
		for _, removed := range oldConfig.Sites {
			if findInfrastructureSite(newConfig, removed.Name) != nil {
				continue
			}
			together := []v1alpha1.InfrastructureSite{removed, added}
			for _, problem := range validateAll(func(r rules) field.ErrorList { return r.together(together, profile, sitesPath) }) {
				allErrs = append(allErrs, field.Forbidden(sitesPath.Index(i).Child("name"),
					fmt.Sprintf("site %q must not be added before the nodes of site %q, which is removed, are gone: it %s", added.Name, removed.Name,
						problem.Detail)))
			}
		}
	}
	return allErrs
}

func immutable(newValue, oldValue any, fldPath *field.Path) field.ErrorList {
	return apivalidation.ValidateImmutableField(newValue, oldValue, fldPath)
}

func findInfrastructureSite(config *v1alpha1.InfrastructureConfig, name string) *v1alpha1.InfrastructureSite {
	if config == nil {
		return nil
	}
	return lists.Find(config.Sites, func(s *v1alpha1.InfrastructureSite) bool { return s.Name == name })
}
