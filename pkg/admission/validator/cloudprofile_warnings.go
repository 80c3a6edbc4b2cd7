// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// imagesMissingOnSites warns of supported image versions that are missing on a site which has an older version. Gardener's maintenance is
// unaware of sites: it assigns the newest supported version to each pool, and fails for the whole Shoot if one pool is refused.
func imagesMissingOnSites(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec) []string {
	var warnings []string
	for i, image := range config.MachineImages {
		offers := offersOf(config, spec, image.Name)
		for j, version := range image.Versions {
			newer := offers[version.Version]
			if newer == nil || !newer.supported {
				continue
			}
			missing := sets.New[string]()
			for _, older := range offers {
				if older.version.LessThan(newer.version) {
					missing = missing.Union(older.missingIn(newer))
				}
			}
			if len(missing) > 0 {
				warnings = append(warnings,
					fmt.Sprintf("%s: %s %s is not on the sites %q, which have older versions: Gardener's maintenance fails for Shoots with pools there; "+
						"classify it as preview until all sites have it",
						profileConfigPath.Child("machineImages").Index(i).Child("versions").Index(j), image.Name, version.Version, sets.List(missing)))
			}
		}
	}
	return warnings
}

// imageOffer tells where a version of an image is available.
type imageOffer struct {
	version   *semver.Version
	supported bool
	// sites are the sites that have the version, by machine type.
	sites map[string]sets.Set[string]
}

// offersOf returns the offer of each version of the image.
func offersOf(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec, image string) map[string]*imageOffer {
	offers := map[string]*imageOffer{}
	for _, core := range spec.MachineImages {
		if core.Name != image {
			continue
		}
		for _, version := range core.Versions {
			parsed, err := semver.NewVersion(version.Version)
			if err != nil {
				continue // Gardener reports the error
			}
			offer := &imageOffer{version: parsed, supported: v1beta1helper.VersionIsSupported(version.ExpirableVersion),
				sites: map[string]sets.Set[string]{}}
			for _, machineType := range spec.MachineTypes {
				offer.sites[machineType.Name] = sitesWith(config, spec, machineType, image, version.Version)
			}
			offers[version.Version] = offer
		}
	}
	return offers
}

// sitesWith returns the sites that have the machine type and the image for it.
func sitesWith(config *v1alpha1.CloudProfileConfig, spec *gardencorev1beta1.CloudProfileSpec, machineType gardencorev1beta1.MachineType,
	image, version string) sets.Set[string] {
	sites := sets.New[string]()
	for _, site := range config.Sites {
		if helper.FindMachineType(config, machineType.Name, site.Name) != nil && helper.FindMachineImage(helper.MachineImageRequest{
			Name:         image,
			Version:      version,
			Site:         site.Name,
			Capabilities: machineType.Capabilities,
			Definitions:  spec.MachineCapabilities,
		}, config.MachineImages) != nil {
			sites.Insert(site.Name)
		}
	}
	return sites
}

// missingIn returns the sites that lack the newer version. Machine types that no site offers it for are ignored.
func (o *imageOffer) missingIn(newer *imageOffer) sets.Set[string] {
	missing := sets.New[string]()
	for machineType, sites := range o.sites {
		if having := newer.sites[machineType]; len(having) > 0 {
			missing = missing.Union(sites.Difference(having))
		}
	}
	return missing
}
