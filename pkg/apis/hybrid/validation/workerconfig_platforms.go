// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// reservedMachineLabels is what the names of the metadata begin with that we write.
	reservedMachineLabels = "gardener-"
	// maxMachineLabelValue is the compute API's limit for the values of metadata, in bytes.
	maxMachineLabelValue = 255
)

// machineLabelRegexp is what the compute API takes for the keys of metadata.
var machineLabelRegexp = regexp.MustCompile(`^[a-zA-Z0-9_:. -]{1,255}$`)

// validateWorkerSite validates the settings of a pool for the site, which is nil if the CloudProfile does not have it.
func validateWorkerSite(config *v1alpha1.WorkerSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	if site == nil {
		return nil
	}
	platform, _ := site.Platform()
	allErrs := validateBlocks(config.Platforms(), site.Name, platform, false, fldPath)
	if config.OpenStack != nil && site.OpenStack != nil {
		allErrs = append(allErrs, validateOpenStackWorker(config.OpenStack, site.OpenStack, fldPath.Child("openstack"))...)
	}
	if site.VSphere != nil {
		allErrs = append(allErrs, validateVSphereWorker(config.VSphere, site.VSphere, fldPath.Child("vsphere"))...)
	}
	if config.Metal != nil && site.Metal != nil {
		allErrs = append(allErrs, validateMetalWorker(config.Metal, site.Metal, fldPath.Child("metal"))...)
	}
	return allErrs
}

func validateOpenStackWorker(config *v1alpha1.OpenStackWorker, profile *v1alpha1.OpenStackProfile, fldPath *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if config.ServerGroup != nil {
		allErrs = append(allErrs,
			validateOneOf(config.ServerGroup.Policy, profile.ServerGroupPolicies, fldPath.Child("serverGroup", "policy"))...)
	}
	securityGroups := names{}
	for i, nameOrID := range config.AdditionalSecurityGroups {
		idxPath := fldPath.Child("additionalSecurityGroups").Index(i)
		allErrs = append(allErrs, securityGroups.addRequired(nameOrID, idxPath)...)
		allErrs = append(allErrs, validateAllowed(nameOrID, profile.SecurityGroups, idxPath)...)
	}
	labels := names{}
	for i, label := range config.MachineLabels {
		idxPath := fldPath.Child("machineLabels").Index(i)
		namePath := idxPath.Child("name")
		allErrs = append(allErrs, labels.addRequired(label.Name, namePath)...)
		switch {
		case strings.HasPrefix(label.Name, reservedMachineLabels):
			allErrs = append(allErrs, field.Forbidden(namePath, fmt.Sprintf("names that begin with %q are reserved", reservedMachineLabels)))
		case label.Name != "" && !machineLabelRegexp.MatchString(label.Name):
			allErrs = append(allErrs,
				field.Invalid(namePath, label.Name, "must have at most 255 characters, which are letters, digits, spaces and any of - _ : ."))
		}
		if len(label.Value) > maxMachineLabelValue {
			allErrs = append(allErrs, field.TooLong(idxPath.Child("value"), "", maxMachineLabelValue))
		}
	}
	return allErrs
}

func validateWorkerDataVolumes(volumes []v1alpha1.WorkerDataVolume, worker *gardencorev1beta1.Worker, profile *v1alpha1.CloudProfileConfig,
	sites []string, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		seen    = names{}
		ofPool  []string
	)
	for _, volume := range worker.DataVolumes {
		ofPool = append(ofPool, volume.Name)
	}
	for i, volume := range volumes {
		idxPath := fldPath.Index(i)
		allErrs = append(allErrs, validateOneOf(volume.Name, ofPool, idxPath.Child("name"))...)
		allErrs = append(allErrs, seen.add(volume.Name, idxPath.Child("name"))...)
		onSites := names{}
		for j := range volume.Sites {
			config, sitePath := &volume.Sites[j], idxPath.Child("sites").Index(j)
			allErrs = append(allErrs, validateOneOf(config.Name, sites, sitePath.Child("name"))...)
			allErrs = append(allErrs, onSites.add(config.Name, sitePath.Child("name"))...)
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
	platform, _ := site.Platform()
	if platform == v1alpha1.PlatformMetal {
		return field.ErrorList{field.Forbidden(fldPath, noVolumes(site.Name))}
	}
	allErrs := validateBlocks(config.Platforms(), site.Name, platform, true, fldPath)
	if config.OpenStack != nil {
		allErrs = append(allErrs, validateRequired(config.OpenStack.Type, fldPath.Child("openstack", "type"))...)
	}
	if config.VSphere != nil {
		policyPath := fldPath.Child("vsphere", "storagePolicy")
		allErrs = append(allErrs, validateRequired(config.VSphere.StoragePolicy, policyPath)...)
		if site.VSphere != nil && site.VSphere.Allowed != nil && site.VSphere.Allowed.StoragePolicies != nil {
			allErrs = append(allErrs, validateOneOf(config.VSphere.StoragePolicy, site.VSphere.Allowed.StoragePolicies, policyPath)...)
		}
	}
	return allErrs
}
