// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package vspherecsi holds the rules of the CSI driver for vSphere, which is one driver for all vSphere sites of a shoot. The admission
// applies them to documents, and the ControlPlane controller to what it deploys.
package vspherecsi

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Domain and a category are the node label with the tag of a node's host, cluster or datacenter. The node service of the driver sets it.
const Domain = "topology.csi.vmware.com/"

// Tag returns the tag of the category of zones that a zone of a vSphere site has.
func Tag(zone *v1alpha1.SiteZone) string {
	return cmp.Or(zone.VSphere.TopologyTag, zone.Name)
}

// Labels returns the labels of the nodes of a zone. It returns nil if the site has no topology.
func Labels(site *v1alpha1.CloudProfileSite, zone *v1alpha1.SiteZone) map[string]string {
	topology := site.VSphere.Topology
	if topology == nil {
		return nil
	}
	return map[string]string{
		Domain + topology.RegionCategory: site.Region,
		Domain + topology.ZoneCategory:   Tag(zone),
	}
}

// Conflict is why the driver cannot serve a site together with others.
type Conflict struct {
	// Site is the name of the site.
	Site string
	// Message says what the site must or must not have.
	Message string
}

// ValidateSite checks that the driver and the scheduler can tell the zones of a vSphere site apart. fldPath is the path of the site.
func ValidateSite(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	var (
		vspherePath = fldPath.Child("vsphere")
		topology    = site.VSphere.Topology
		allErrs     field.ErrorList
	)
	if topology == nil {
		if len(site.StorageClasses) > 0 {
			return field.ErrorList{field.Required(vspherePath.Child("topology"),
				"must be set for storageClasses: without tags, pods may be scheduled to nodes that cannot attach their volumes")}
		}
		return nil
	}
	check := func(problems []string, value string, what string, fldPath *field.Path) {
		for _, problem := range problems {
			allErrs = append(allErrs, field.Invalid(fldPath, value, what+problem))
		}
	}
	for _, category := range []struct{ name, value string }{
		{"regionCategory", topology.RegionCategory},
		{"zoneCategory", topology.ZoneCategory},
	} {
		if category.value != "" {
			check(validation.IsQualifiedName(Domain+category.value), category.value, "must be usable in the name of a node label: ",
				vspherePath.Child("topology", category.name))
		}
	}
	const labelValue = "must be usable as the value of a node label: "
	check(validation.IsValidLabelValue(site.Region), site.Region, labelValue, fldPath.Child("region"))
	allErrs = append(allErrs, validateDatacenter(site.VSphere.Datacenter, vspherePath.Child("datacenter"))...)
	for i := range site.Zones {
		zone, zonePath := &site.Zones[i], fldPath.Child("zones").Index(i).Child("vsphere")
		if zone.VSphere == nil {
			continue
		}
		allErrs = append(allErrs, validateDatacenter(zone.VSphere.Datacenter, zonePath.Child("datacenter"))...)
		tag, tagPath := Tag(zone), zonePath.Child("topologyTag")
		check(validation.IsValidLabelValue(tag), tag, labelValue, tagPath)
		if tag == site.Region {
			allErrs = append(allErrs, field.Invalid(tagPath, tag,
				"must differ from the tag of the region: the CSI driver does not distinguish tags by category"))
		}
	}
	return allErrs
}

// Conflicts returns why one driver cannot serve the vSphere sites of a shoot together.
func Conflicts(sites []*v1alpha1.CloudProfileSite) []Conflict {
	var (
		conflicts []Conflict
		owners    = map[string]string{}
		served    []*v1alpha1.CloudProfileSite
	)
	for _, site := range sites {
		add := func(format string, args ...any) {
			conflicts = append(conflicts, Conflict{Site: site.Name, Message: fmt.Sprintf(format, args...)})
		}
		first := sites[0]
		switch topology, wanted := site.VSphere.Topology, first.VSphere.Topology; {
		case (topology == nil) != (wanted == nil):
			add("must have vsphere.topology in the CloudProfile if and only if site %q has it: the CSI driver serves either all vSphere sites "+
				"of a shoot or none", first.Name)
			continue
		case topology == nil:
			continue
		case topology.RegionCategory != wanted.RegionCategory || topology.ZoneCategory != wanted.ZoneCategory:
			add("must have the same vsphere.topology in the CloudProfile as site %q, categories %q and %q", first.Name, wanted.RegionCategory,
				wanted.ZoneCategory)
		}
		served = append(served, site)
		for i := range site.Zones {
			if site.Zones[i].VSphere == nil {
				continue
			}
			tag := Tag(&site.Zones[i])
			if owner, used := owners[tag]; used && owner != site.Name {
				add("must not be used together with site %q: both have topologyTag %q in the CloudProfile, so volumes of one site could be "+
					"requested on nodes of the other", owner, tag)
			}
			owners[tag] = site.Name
		}
	}
	return append(conflicts, vCenterConflicts(served)...)
}
