// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// platforms are the rules of each platform. Nothing else in this package decides by platform.
var platforms = map[v1alpha1.Platform]rules{
	v1alpha1.PlatformOpenStack: openStack{},
	v1alpha1.PlatformVSphere:   vSphere{},
	v1alpha1.PlatformMetal:     metal{},
}

// allPlatforms are the platforms in the order in which their rules are asked.
var allPlatforms = v1alpha1.AllPlatforms()

// rules are what is allowed at the sites of one platform. site is the site of the CloudProfile that an object belongs to, nil if there is
// none. Errors are below fldPath, which is the path of the object.
type rules interface {
	// credentials returns the alternative sets of keys that a site needs, the preferred one first.
	credentials() [][]string
	// options returns the alternative sets of keys that a site may have in addition.
	options() [][]string
	// noVolumes returns why sites have no volumes, empty if they have.
	noVolumes() string
	// noBastions returns why sites have no bastions, empty if they have.
	noBastions() string
	// noExposures returns why sites have no load balancer for a control plane, empty if they have.
	noExposures() string

	// The first argument of the following rules has the block of the platform.

	// access checks how a site is reached.
	access(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	// encryption refuses a site that receives credentials in the clear. before is the same site before an update, nil if there is none.
	encryption(site, before *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	site(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	zone(zone *v1alpha1.SiteZone, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	storageClass(class *v1alpha1.StorageClass, fldPath *field.Path) field.ErrorList
	machineType(machineType *v1alpha1.SiteMachineType, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	volumeType(volumeType *v1alpha1.SiteVolumeType, fldPath *field.Path) field.ErrorList
	image(image *v1alpha1.SiteMachineImage, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	// allowed checks that what a site of the shoot refers to is among what the operator allows.
	allowed(s *v1alpha1.InfrastructureSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	worker(config *v1alpha1.WorkerSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	dataVolume(volume *v1alpha1.WorkerDataVolumeSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	// rollingUpdate checks an update of a pool that stays on the site, whose block is set, and whose machines are replaced.
	rollingUpdate(newWorker, oldWorker *gardencorev1beta1.Worker, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList

	// The following rules look for their block themselves.

	// namespaced checks what a NamespacedCloudProfile adds to its parent. fldPath is the path of the configuration.
	namespaced(profile NamespacedProfile, fldPath *field.Path) field.ErrorList
	// infrastructure checks a site of the shoot, whose block may be missing.
	infrastructure(s *v1alpha1.InfrastructureSite, config *v1alpha1.InfrastructureConfig, site *v1alpha1.CloudProfileSite,
		fldPath *field.Path) field.ErrorList
	// needsOption reports whether a site of the shoot, whose block may be missing, needs one of the options.
	needsOption(s *v1alpha1.InfrastructureSite) bool
	infrastructureUpdate(newSite, oldSite *v1alpha1.InfrastructureSite, fldPath *field.Path) field.ErrorList
	// together checks that a shoot can use the sites at the same time. fldPath is the path of the sites.
	together(sites []v1alpha1.InfrastructureSite, profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList
	loadBalancer(config *v1alpha1.ControlPlaneSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	// storage checks the volumes of a site of the shoot. s is the site in the InfrastructureConfig, nil if there is none.
	storage(config *v1alpha1.SiteStorage, s *v1alpha1.InfrastructureSite, site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList
	// inPlaceUpdate checks an update of a pool whose machines stay. Either configuration may be nil.
	inPlaceUpdate(newConfig, oldConfig *v1alpha1.WorkerSite, fldPath *field.Path) field.ErrorList
}

// rulesOf returns the rules of the platform. There are none for a platform that is not known.
func rulesOf(platform v1alpha1.Platform) rules {
	if r, ok := platforms[platform]; ok {
		return r
	}
	return noRules{}
}

// validateAll returns what the rules of all platforms find.
func validateAll(rule func(rules) field.ErrorList) field.ErrorList {
	return validateFor(allPlatforms, rule)
}

// validateFor returns what the rules of the platforms find.
func validateFor(platforms []v1alpha1.Platform, rule func(rules) field.ErrorList) field.ErrorList {
	var allErrs field.ErrorList
	for _, platform := range platforms {
		allErrs = append(allErrs, rule(rulesOf(platform))...)
	}
	return allErrs
}

// validateBlocks checks that only the block of the site's platform is set, and that it is set if it is required. It returns nil if the
// site's platform is not known.
func validateBlocks(set []v1alpha1.Platform, site string, platform v1alpha1.Platform, required bool, fldPath *field.Path) field.ErrorList {
	if platform == "" {
		return nil
	}
	var (
		allErrs field.ErrorList
		reason  = fmt.Sprintf("site %q is of platform %q", site, platform)
	)
	for _, other := range set {
		if other != platform {
			allErrs = append(allErrs, field.Forbidden(fldPath.Child(string(other)), reason))
		}
	}
	if required && !slices.Contains(set, platform) {
		allErrs = append(allErrs, field.Required(fldPath.Child(string(platform)), reason))
	}
	return allErrs
}

// noRules finds nothing. The rules of a platform embed it.
type noRules struct{}

func (noRules) credentials() [][]string                       { return nil }
func (noRules) options() [][]string                           { return nil }
func (noRules) needsOption(*v1alpha1.InfrastructureSite) bool { return false }
func (noRules) noVolumes() string                             { return "" }
func (noRules) noBastions() string                            { return "" }
func (noRules) noExposures() string                           { return "" }
func (noRules) access(*v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}

func (noRules) encryption(_, _ *v1alpha1.CloudProfileSite, _ *field.Path) field.ErrorList {
	return nil
}
func (noRules) site(*v1alpha1.CloudProfileSite, *field.Path) field.ErrorList { return nil }
func (noRules) zone(*v1alpha1.SiteZone, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) storageClass(*v1alpha1.StorageClass, *field.Path) field.ErrorList { return nil }
func (noRules) machineType(*v1alpha1.SiteMachineType, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) volumeType(*v1alpha1.SiteVolumeType, *field.Path) field.ErrorList { return nil }
func (noRules) image(*v1alpha1.SiteMachineImage, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) namespaced(NamespacedProfile, *field.Path) field.ErrorList { return nil }
func (noRules) infrastructure(*v1alpha1.InfrastructureSite, *v1alpha1.InfrastructureConfig, *v1alpha1.CloudProfileSite,
	*field.Path) field.ErrorList {
	return nil
}

func (noRules) infrastructureUpdate(_, _ *v1alpha1.InfrastructureSite, _ *field.Path) field.ErrorList {
	return nil
}
func (noRules) allowed(*v1alpha1.InfrastructureSite, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) together([]v1alpha1.InfrastructureSite, *v1alpha1.CloudProfileConfig, *field.Path) field.ErrorList {
	return nil
}
func (noRules) loadBalancer(*v1alpha1.ControlPlaneSite, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) storage(*v1alpha1.SiteStorage, *v1alpha1.InfrastructureSite, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) worker(*v1alpha1.WorkerSite, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
func (noRules) rollingUpdate(_, _ *gardencorev1beta1.Worker, _ *v1alpha1.CloudProfileSite, _ *field.Path) field.ErrorList {
	return nil
}
func (noRules) inPlaceUpdate(_, _ *v1alpha1.WorkerSite, _ *field.Path) field.ErrorList { return nil }
func (noRules) dataVolume(*v1alpha1.WorkerDataVolumeSite, *v1alpha1.CloudProfileSite, *field.Path) field.ErrorList {
	return nil
}
