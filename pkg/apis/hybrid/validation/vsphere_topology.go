// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// vSphereTopologyDomain begins the names of the node labels with the tags of a zone.
const vSphereTopologyDomain = "topology.csi.vmware.com/"

// vSphereTag returns the tag of the zone's category that the zone has.
func vSphereTag(zone *v1alpha1.SiteZone) string {
	return cmp.Or(zone.VSphere.TopologyTag, zone.Name)
}

// validateVSphereTopology checks that the CSI driver and the scheduler can tell the zones of a vSphere site apart. Without categories of
// tags nothing keeps pods from nodes that cannot have their volumes. fldPath is the path of the site.
func validateVSphereTopology(site *v1alpha1.CloudProfileSite, fldPath *field.Path) field.ErrorList {
	var (
		topology     = site.VSphere.Topology
		topologyPath = fldPath.Child("vsphere", "topology")
	)
	if topology == nil {
		if len(site.StorageClasses) > 0 {
			return field.ErrorList{field.Required(topologyPath,
				"must be set for storageClasses: without tags nothing keeps pods from nodes that cannot have their volumes")}
		}
		return nil
	}

	var allErrs field.ErrorList
	for _, category := range []struct{ name, value string }{{"regionCategory", topology.RegionCategory},
		{"zoneCategory", topology.ZoneCategory}} {
		if category.value == "" {
			continue
		}
		for _, message := range validation.IsQualifiedName(vSphereTopologyDomain + category.value) {
			allErrs = append(allErrs,
				field.Invalid(topologyPath.Child(category.name), category.value, "is part of the name of a node label: "+message))
		}
	}
	allErrs = append(allErrs, validateDatacenter(site.VSphere.Datacenter, fldPath.Child("vsphere", "datacenter"))...)
	for i := range site.Zones {
		zone := &site.Zones[i]
		if zone.VSphere == nil {
			continue
		}
		allErrs = append(allErrs, validateDatacenter(zone.VSphere.Datacenter, fldPath.Child("zones").Index(i).Child("vsphere", "datacenter"))...)
		tag, tagPath := vSphereTag(zone), fldPath.Child("zones").Index(i).Child("vsphere", "topologyTag")
		for _, message := range validation.IsValidLabelValue(tag) {
			allErrs = append(allErrs, field.Invalid(tagPath, tag, "is the value of a node label: "+message))
		}
		if tag == site.Region {
			allErrs = append(allErrs,
				field.Invalid(tagPath, tag, "must not be the tag of the region, too, because the CSI driver does not tell tags apart by category"))
		}
	}
	return allErrs
}

// validateVSphereSites checks that one CSI driver can serve the vSphere sites among those of a shoot. fldPath is the path of the sites.
func validateVSphereSites(sites []v1alpha1.InfrastructureSite, profile *v1alpha1.CloudProfileConfig, fldPath *field.Path) field.ErrorList {
	var (
		allErrs field.ErrorList
		first   *v1alpha1.CloudProfileSite
		users   = map[string]string{}
		served  []*v1alpha1.CloudProfileSite
		paths   = map[string]*field.Path{}
	)
	for i := range sites {
		site := helper.FindSite(profile, sites[i].Name)
		if site == nil || site.VSphere == nil {
			continue
		}
		namePath := fldPath.Index(i).Child("name")
		paths[site.Name] = namePath
		if first == nil {
			first = site
		}
		switch topology, wanted := site.VSphere.Topology, first.VSphere.Topology; {
		case (topology == nil) != (wanted == nil):
			allErrs = append(allErrs,
				field.Invalid(namePath, site.Name,
					fmt.Sprintf("must have vsphere.topology in the CloudProfile if and only if site %q has: the CSI driver serves all vSphere sites of a shoot or none", first.Name)))
			continue
		case topology == nil:
			continue
		case topology.RegionCategory != wanted.RegionCategory || topology.ZoneCategory != wanted.ZoneCategory:
			allErrs = append(allErrs,
				field.Invalid(namePath, site.Name,
					fmt.Sprintf("must have the same categories of vsphere.topology in the CloudProfile as site %q", first.Name)))
		}
		served = append(served, site)
		for j := range site.Zones {
			if site.Zones[j].VSphere == nil {
				continue
			}
			tag := vSphereTag(&site.Zones[j])
			if user, used := users[tag]; used && user != site.Name {
				allErrs = append(allErrs,
					field.Invalid(namePath, site.Name,
						fmt.Sprintf("must not be used together with site %q: both have the topologyTag %q in the CloudProfile, so that volumes of one would be wanted on nodes of the other", user, tag)))
			}
			users[tag] = site.Name
		}
	}
	for _, conflict := range VCenterConflicts(served) {
		allErrs = append(allErrs, field.Invalid(paths[conflict.Site], conflict.Site, conflict.Message))
	}
	return allErrs
}
