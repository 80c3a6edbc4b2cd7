// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/utils/timewindow"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ValidateWorkerConfig validates the configuration of the worker pool, whose zones belong to the sites, with the configuration of the
// CloudProfile. fldPath is the path of the configuration.
func ValidateWorkerConfig(config *v1alpha1.WorkerConfig, worker *gardencorev1beta1.Worker, profile *v1alpha1.CloudProfileConfig,
	sites []string, fldPath *field.Path) field.ErrorList {
	if config == nil || worker == nil {
		return nil
	}
	allErrs := validateWorkerSites(config.Sites, worker, sites, fldPath.Child("sites"))
	for i := range config.Sites {
		site, idxPath := &config.Sites[i], fldPath.Child("sites").Index(i)
		allErrs = append(allErrs, validateSiteClusterAutoscaler(site.ClusterAutoscaler, idxPath.Child("clusterAutoscaler"))...)
		allErrs = append(allErrs, validateWorkerSite(site, helper.FindSite(profile, site.Name), idxPath)...)
	}
	allErrs = append(allErrs, validateWorkerDataVolumes(config.DataVolumes, worker, profile, sites, fldPath.Child("dataVolumes"))...)
	allErrs = append(allErrs, validateReturnHome(config, fldPath.Child("returnHome"))...)

	if template := config.NodeTemplate; template != nil {
		templatePath := fldPath.Child("nodeTemplate")
		allErrs = append(allErrs, validateResources(template.Capacity, templatePath.Child("capacity"))...)
		virtualPath := templatePath.Child("virtualCapacity")
		allErrs = append(allErrs, validateResources(template.VirtualCapacity, virtualPath)...)
		for _, name := range slices.Sorted(maps.Keys(template.VirtualCapacity)) {
			if !strings.Contains(string(name), "/") {
				allErrs = append(allErrs,
					field.Invalid(virtualPath.Key(string(name)), string(name), "must be an extended resource such as example.com/license"))
			}
		}
	}
	return allErrs
}

// maxMachinesPerHour is one per minute, the interval at which moves of machines are considered.
const maxMachinesPerHour = 60

func validateReturnHome(config *v1alpha1.WorkerConfig, fldPath *field.Path) field.ErrorList {
	home := config.ReturnHome
	if home == nil {
		return nil
	}
	var allErrs field.ErrorList
	priorities := sets.New[int32]()
	for i := range config.Sites {
		priorities.Insert(ptr.Deref(config.Sites[i].Priority, 0))
	}
	if priorities.Len() < 2 {
		allErrs = append(allErrs, field.Forbidden(fldPath, "requires sites with different priorities, which are set in sites[].priority"))
	}
	if rate := home.MachinesPerHour; rate != nil && (*rate < 1 || *rate > maxMachinesPerHour) {
		allErrs = append(allErrs,
			field.Invalid(fldPath.Child("machinesPerHour"), *rate, fmt.Sprintf("must be from 1 to %d", maxMachinesPerHour)))
	}
	if window := home.TimeWindow; window != nil {
		windowPath := fldPath.Child("timeWindow")
		begin, beginErr := timewindow.ParseMaintenanceTime(window.Begin)
		if beginErr != nil {
			allErrs = append(allErrs, field.Invalid(windowPath.Child("begin"), window.Begin, timeFormat))
		}
		end, endErr := timewindow.ParseMaintenanceTime(window.End)
		if endErr != nil {
			allErrs = append(allErrs, field.Invalid(windowPath.Child("end"), window.End, timeFormat))
		}
		if beginErr == nil && endErr == nil && begin.Compare(end) == 0 {
			allErrs = append(allErrs, field.Invalid(windowPath.Child("end"), window.End, "must not be equal to begin"))
		}
	}
	return allErrs
}

// timeFormat says how times of time windows are written.
const timeFormat = "must be a time such as 220000+0100"

func validateWorkerSites(configs []v1alpha1.WorkerSite, worker *gardencorev1beta1.Worker, sites []string,
	fldPath *field.Path) field.ErrorList {
	var (
		allErrs    field.ErrorList
		seen       = names{}
		minimumSum int32
		limited    []int
		unlimited  []int
	)
	for i := range configs {
		config, idxPath := &configs[i], fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(config.Name, sites, idxPath.Child("name"))...)
		if config.Minimum == nil && config.Maximum == nil {
			unlimited = append(unlimited, i)
			continue
		}
		limited = append(limited, i)
		allErrs = append(allErrs, validateLimits(config, worker, idxPath)...)
		if config.Minimum != nil {
			minimumSum += *config.Minimum
		}
	}
	allErrs = append(allErrs, validatePriorities(configs, seen, sites, fldPath)...)
	if len(limited) == 0 {
		return allErrs
	}

	for _, i := range unlimited {
		allErrs = append(allErrs, field.Required(fldPath.Index(i).Child("minimum"), "must be set for all sites of the pool or for none"))
	}
	missing := missingSites(sites, seen)
	for _, site := range missing {
		allErrs = append(allErrs,
			field.Required(fldPath,
				fmt.Sprintf("must have minimum and maximum for site %q: they must be set for all sites of the pool or for none", site)))
	}
	if len(missing) == 0 && len(unlimited) == 0 && minimumSum != worker.Minimum {
		allErrs = append(allErrs,
			field.Invalid(fldPath, minimumSum, fmt.Sprintf("the sites' minima must add up to the pool's minimum, which is %d", worker.Minimum)))
	}
	return allErrs
}

func validateLimits(config *v1alpha1.WorkerSite, worker *gardencorev1beta1.Worker, fldPath *field.Path) field.ErrorList {
	var (
		allErrs              field.ErrorList
		minimumPath, maxPath = fldPath.Child("minimum"), fldPath.Child("maximum")
	)
	switch {
	case config.Minimum == nil:
		return append(allErrs, field.Required(minimumPath, "must be set together with maximum"))
	case config.Maximum == nil:
		return append(allErrs, field.Required(maxPath, "must be set together with minimum"))
	}
	if *config.Minimum < 0 {
		allErrs = append(allErrs, field.Invalid(minimumPath, *config.Minimum, "must not be negative"))
	}
	if *config.Maximum < *config.Minimum {
		allErrs = append(allErrs,
			field.Invalid(maxPath, *config.Maximum, fmt.Sprintf("must not be less than minimum, which is %d", *config.Minimum)))
	}
	if *config.Maximum > worker.Maximum {
		allErrs = append(allErrs,
			field.Invalid(maxPath, *config.Maximum, fmt.Sprintf("must not be greater than the pool's maximum, which is %d", worker.Maximum)))
	}
	return allErrs
}

func validateSiteClusterAutoscaler(options *v1alpha1.SiteClusterAutoscaler, fldPath *field.Path) field.ErrorList {
	if options == nil {
		return nil
	}
	allErrs := validateShare(options.ScaleDownUtilizationThreshold, fldPath.Child("scaleDownUtilizationThreshold"))
	allErrs = append(allErrs, validateShare(options.ScaleDownGpuUtilizationThreshold, fldPath.Child("scaleDownGpuUtilizationThreshold"))...)
	allErrs = append(allErrs, validateNotNegativeDuration(options.ScaleDownUnneededTime, fldPath.Child("scaleDownUnneededTime"))...)
	allErrs = append(allErrs, validateNotNegativeDuration(options.ScaleDownUnreadyTime, fldPath.Child("scaleDownUnreadyTime"))...)
	return append(allErrs, validateNotNegativeDuration(options.MaxNodeProvisionTime, fldPath.Child("maxNodeProvisionTime"))...)
}

func validatePriorities(configs []v1alpha1.WorkerSite, seen names, sites []string, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		unset   []int
		used    bool
	)
	for i, config := range configs {
		if config.Priority == nil {
			unset = append(unset, i)
			continue
		}
		used = true
		if *config.Priority < 0 {
			allErrs = append(allErrs, field.Invalid(fldPath.Index(i).Child("priority"), *config.Priority, "must not be negative"))
		}
	}
	if !used {
		return allErrs
	}
	for _, i := range unset {
		allErrs = append(allErrs, field.Required(fldPath.Index(i).Child("priority"), "must be set for all sites of the pool or for none"))
	}
	for _, site := range missingSites(sites, seen) {
		allErrs = append(allErrs,
			field.Required(fldPath, fmt.Sprintf("must have a priority for site %q: it must be set for all sites of the pool or for none", site)))
	}
	return allErrs
}

func missingSites(sites []string, seen names) []string {
	return slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return seen[site] })
}

// validateWorkerSite validates the settings of a pool for the site, which is nil if the CloudProfile does not have it.
func validateWorkerSite(config *v1alpha1.WorkerSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site == nil {
		return nil
	}
	platform, _ := site.Platform()
	allErrs := validateBlocks(v1alpha1.PlatformsOf(config), site.Name, platform, false, fldPath)
	return append(allErrs, validateFor(v1alpha1.PlatformsOf(config), func(r rules) field.ErrorList {
		return r.worker(config, site, fldPath)
	})...)
}

func validateWorkerDataVolumes(volumes []v1alpha1.WorkerDataVolume, worker *gardencorev1beta1.Worker, profile *v1alpha1.CloudProfileConfig,
	sites []string, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		seen    = names{}
		ofPool  = lists.Map(worker.DataVolumes, func(v gardencorev1beta1.DataVolume) string { return v.Name })
	)
	for i, volume := range volumes {
		idxPath := fldPath.Index(i)
		allErrs = append(allErrs, seen.addOneOf(volume.Name, ofPool, idxPath.Child("name"))...)
		onSites := names{}
		for j := range volume.Sites {
			config, sitePath := &volume.Sites[j], idxPath.Child("sites").Index(j)
			allErrs = append(allErrs, onSites.addOneOf(config.Name, sites, sitePath.Child("name"))...)
			allErrs = append(allErrs, validateWorkerDataVolumeSite(config, helper.FindSite(profile, config.Name), sitePath)...)
		}
	}
	return allErrs
}

func validateWorkerDataVolumeSite(config *v1alpha1.WorkerDataVolumeSite, site *v1alpha1.CloudProfileSite,
	fldPath *field.Path) field.ErrorList {
	if site == nil {
		return nil
	}
	if reason := NoVolumes(site); reason != "" {
		return field.ErrorList{field.Forbidden(fldPath, reason)}
	}
	platform, _ := site.Platform()
	allErrs := validateBlocks(v1alpha1.PlatformsOf(config), site.Name, platform, true, fldPath)
	return append(allErrs, validateFor(v1alpha1.PlatformsOf(config), func(r rules) field.ErrorList {
		return r.dataVolume(config, site, fldPath)
	})...)
}
