// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ValidateWorkers validates the worker pools of a Shoot with the infrastructure. spec is the CloudProfile whose
// configuration profile is. fldPath is the path of the pools.
func ValidateWorkers(workers []gardencorev1beta1.Worker, spec *gardencorev1beta1.CloudProfileSpec, profile *v1alpha1.CloudProfileConfig,
	infrastructure *v1alpha1.InfrastructureConfig, fldPath *field.Path) field.ErrorList {
	v := NewWorkerValidator(spec, profile, infrastructure)
	var allErrs field.ErrorList
	for i := range workers {
		allErrs = append(allErrs, v.Validate(&workers[i], fldPath.Index(i))...)
	}
	return allErrs
}

// WorkerValidator validates single worker pools of a Shoot.
type WorkerValidator struct {
	spec    *gardencorev1beta1.CloudProfileSpec
	profile *v1alpha1.CloudProfileConfig
	// sites are the names of the sites that the shoot uses.
	sites []string
	// zones are the names of the sites of all zones.
	zones map[string]string
}

// NewWorkerValidator returns a validator for the pools of a Shoot with the infrastructure. spec is the CloudProfile whose configuration
// profile is.
func NewWorkerValidator(spec *gardencorev1beta1.CloudProfileSpec, profile *v1alpha1.CloudProfileConfig,
	infrastructure *v1alpha1.InfrastructureConfig) *WorkerValidator {
	if spec == nil {
		spec = &gardencorev1beta1.CloudProfileSpec{}
	}
	v := &WorkerValidator{spec: spec, profile: profile, zones: map[string]string{}}
	if profile != nil {
		for _, site := range profile.Sites {
			used := findInfrastructureSite(infrastructure, site.Name) != nil
			for _, zone := range site.Zones {
				if _, ok := v.zones[zone.Name]; !ok || used {
					v.zones[zone.Name] = site.Name
				}
			}
			if used {
				v.sites = append(v.sites, site.Name)
			}
		}
	}
	return v
}

// SitesOf returns the names of the sites that the zones belong to. Zones that are not known are left out.
func (v *WorkerValidator) SitesOf(zones []string) []string {
	var sites []string
	for _, zone := range zones {
		if site, ok := v.zones[zone]; ok && !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites
}

// Limits are the minimum and the maximum number of machines.
type Limits struct {
	Minimum, Maximum int32
}

// LimitsBySite returns the limits of the pool by the names of its sites. Zones that are not known are left out, and a malformed
// providerConfig, which Validate reports, has no effect.
func (v *WorkerValidator) LimitsBySite(worker *gardencorev1beta1.Worker) map[string]Limits {
	result := map[string]Limits{}
	for i, zone := range worker.Zones {
		if site, ok := v.zones[zone]; ok {
			limits := result[site]
			limits.Minimum += shareOfZone(i, worker.Minimum, len(worker.Zones))
			limits.Maximum += shareOfZone(i, worker.Maximum, len(worker.Zones))
			result[site] = limits
		}
	}
	config := workerConfigOf(worker)
	for i := range config.Sites {
		site := &config.Sites[i]
		if limits, ok := result[site.Name]; ok {
			result[site.Name] = Limits{Minimum: ptr.Deref(site.Minimum, limits.Minimum), Maximum: ptr.Deref(site.Maximum, limits.Maximum)}
		}
	}
	return result
}

// shareOfZone distributes the total over zones like Gardener: the first zones get the remainder.
func shareOfZone(index int, total int32, zones int) int32 {
	count := int32(zones) // #nosec G115 -- a pool has few zones.
	share := total / count
	if int32(index) < total%count { // #nosec G115 -- a pool has few zones.
		share++
	}
	return share
}

// Validate validates a pool. fldPath is its path.
func (v *WorkerValidator) Validate(worker *gardencorev1beta1.Worker, fldPath *field.Path) field.ErrorList {
	sites, allErrs := v.validateZones(worker.Zones, fldPath.Child("zones"))
	allErrs = append(allErrs, v.validateMachine(worker, sites, fldPath.Child("machine"))...)
	allErrs = append(allErrs, v.validateVolumes(worker, sites, fldPath)...)
	for _, label := range []string{v1alpha1.LabelPlatform, v1alpha1.LabelSite} {
		if _, ok := worker.Labels[label]; ok {
			allErrs = append(allErrs, field.Forbidden(fldPath.Child("labels").Key(label), "must not be set: it depends on the zone of a machine"))
		}
	}

	if worker.ProviderConfig != nil {
		configPath := fldPath.Child("providerConfig")
		config, err := codec.Decode[v1alpha1.WorkerConfig](worker.ProviderConfig)
		if err != nil {
			return append(allErrs, field.Invalid(configPath, "(hidden)", err.Error()))
		}
		allErrs = append(allErrs, ValidateWorkerConfig(config, worker, v.profile, sites, configPath)...)
	}
	return allErrs
}

// validateZones returns the names of the sites that the zones belong to. There are none without a profile.
func (v *WorkerValidator) validateZones(zones []string, fldPath *field.Path) ([]string, field.ErrorList) {
	if len(zones) == 0 {
		return nil, field.ErrorList{field.Required(fldPath, "must have at least one zone")}
	}

	var (
		allErrs field.ErrorList
		sites   []string
		seen    = names{}
		hashes  = map[string]string{}
	)
	for i, zone := range zones {
		idxPath := fldPath.Index(i)
		site, ok := v.zones[zone]
		switch {
		case !ok:
			allErrs = append(allErrs, field.NotSupported(idxPath, zone, v.usableZones()))
			continue
		case !slices.Contains(v.sites, site):
			allErrs = append(allErrs,
				field.Invalid(idxPath, zone,
					fmt.Sprintf("must belong to one of the infrastructureConfig's sites %q, and belongs to site %q", v.sites, site)))
			continue
		}
		if errs := seen.add(zone, idxPath); len(errs) > 0 {
			allErrs = append(allErrs, errs...)
			continue
		}
		hash := helper.ZoneHash(zone)
		if other, ok := hashes[hash]; ok {
			allErrs = append(allErrs,
				field.Invalid(idxPath, zone,
					fmt.Sprintf("must not be in one pool with zone %q: the names of their machine deployments would be equal", other)))
		}
		hashes[hash] = zone
		if !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites, allErrs
}

func (v *WorkerValidator) usableZones() []string {
	var result []string
	for _, zone := range slices.Sorted(maps.Keys(v.zones)) {
		if slices.Contains(v.sites, v.zones[zone]) {
			result = append(result, zone)
		}
	}
	return result
}

func (v *WorkerValidator) validateMachine(worker *gardencorev1beta1.Worker, sites []string, fldPath *field.Path) field.ErrorList {
	var (
		allErrs      field.ErrorList
		machineType  = worker.Machine.Type
		capabilities gardencorev1beta1.Capabilities
	)
	if found := lists.Find(v.spec.MachineTypes, func(t *gardencorev1beta1.MachineType) bool { return t.Name == machineType }); found != nil {
		capabilities = found.Capabilities
	}
	for _, site := range sites {
		if helper.FindMachineType(v.profile, machineType, site) == nil {
			allErrs = append(allErrs,
				field.Invalid(fldPath.Child("type"), machineType,
					fmt.Sprintf("must be a machine type that site %q of the pool's zones has: %q", site, v.machineTypes(site))))
		}
		image := worker.Machine.Image
		if image == nil || image.Version == nil {
			continue
		}
		if helper.FindMachineImage(helper.MachineImageRequest{
			Name:         image.Name,
			Version:      *image.Version,
			Site:         site,
			Capabilities: capabilities,
			Definitions:  v.spec.MachineCapabilities,
		}, v.profile.MachineImages) == nil {
			allErrs = append(allErrs, field.Invalid(fldPath.Child("image"), fmt.Sprintf("%s %s", image.Name, *image.Version),
				fmt.Sprintf("must be an image that site %q of the pool's zones has for machine type %q: %q", site, machineType, v.images(site))))
		}
	}
	return allErrs
}

func (v *WorkerValidator) validateVolumes(worker *gardencorev1beta1.Worker, sites []string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if volume := worker.Volume; volume != nil {
		allErrs = append(allErrs, v.validateVolume(volume.Type, volume.Encrypted, sites, fldPath.Child("volume"))...)
	}
	for i, volume := range worker.DataVolumes {
		allErrs = append(allErrs, v.validateVolume(volume.Type, volume.Encrypted, sites, fldPath.Child("dataVolumes").Index(i))...)
	}
	if len(worker.DataVolumes) > 0 {
		for _, site := range sites {
			if reason := NoVolumes(helper.FindSite(v.profile, site)); reason != "" {
				allErrs = append(allErrs, field.Forbidden(fldPath.Child("dataVolumes"), reason))
			}
		}
	}
	return allErrs
}

func (v *WorkerValidator) validateVolume(volumeType *string, encrypted *bool, sites []string, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if encrypted != nil && *encrypted {
		allErrs = append(allErrs, field.Forbidden(fldPath.Child("encrypted"), "is not supported; use a volume type that encrypts"))
	}
	if volumeType == nil {
		return allErrs
	}
	for _, site := range sites {
		if helper.FindVolumeType(v.profile, *volumeType, site) == nil {
			allErrs = append(allErrs,
				field.Invalid(fldPath.Child("type"), *volumeType,
					fmt.Sprintf("must be a volume type that site %q of the pool's zones has: %q", site, v.volumeTypes(site))))
		}
	}
	return allErrs
}

func (v *WorkerValidator) machineTypes(site string) []string {
	var result []string
	for _, machineType := range v.profile.MachineTypes {
		if helper.FindMachineType(v.profile, machineType.Name, site) != nil {
			result = append(result, machineType.Name)
		}
	}
	return result
}

func (v *WorkerValidator) volumeTypes(site string) []string {
	var result []string
	for _, volumeType := range v.profile.VolumeTypes {
		if helper.FindVolumeType(v.profile, volumeType.Name, site) != nil {
			result = append(result, volumeType.Name)
		}
	}
	return result
}

// images returns name and version of the images that the site has for any machine.
func (v *WorkerValidator) images(site string) []string {
	var result []string
	for _, image := range v.profile.MachineImages {
		for _, version := range image.Versions {
			if helper.FindMachineImage(helper.MachineImageRequest{Name: image.Name, Version: version.Version, Site: site},
				v.profile.MachineImages) != nil {
				result = append(result, fmt.Sprintf("%s %s", image.Name, version.Version))
			}
		}
	}
	return result
}
