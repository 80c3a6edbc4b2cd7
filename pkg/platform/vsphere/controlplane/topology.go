// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	vspheretopology "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/topology"
)

// topology are the tags that tell the driver where nodes and volumes are. It knows tags by their names alone, whatever their category
// and their vCenter.
type topology struct {
	categories v1alpha1.VSphereTopology
	// tags are the tags of the zones of each site, by the name of the site.
	tags map[string][]string
}

// withTopology returns the sites that have categories of tags. Others have no volumes of the driver: these could not be told from
// volumes of other sites.
func withTopology(sites []platform.ControlPlaneSite) ([]platform.ControlPlaneSite, error) {
	var with, without []platform.ControlPlaneSite
	var errs []error
	for _, s := range sites {
		err := checkProfile(s)
		switch {
		case err != nil:
		case s.Site.Profile.VSphere.Topology != nil:
			with = append(with, s)
		case len(s.Site.Profile.StorageClasses) > 0:
			err = mistake("it has storageClasses, so vsphere.topology must be set: without tags nothing keeps pods from nodes that cannot have their volumes")
		default:
			without = append(without, s)
		}
		errs = append(errs, platform.InSite(s.Site.Name, err))
	}
	if len(with) > 0 {
		for _, s := range without {
			errs = append(errs,
				platform.InSite(s.Site.Name,
					mistake("vsphere.topology must be set because site %q has it: the CSI driver serves all vSphere sites of a shoot or none",
						with[0].Site.Name)))
		}
	}
	return with, errors.Join(errs...)
}

// topologyOf checks that the driver and the scheduler can tell the sites apart by their tags. There is at least one site.
func topologyOf(sites []platform.ControlPlaneSite) (*topology, error) {
	result := &topology{categories: *sites[0].Site.Profile.VSphere.Topology, tags: map[string][]string{}}
	var (
		errs  []error
		users = map[string]string{}
	)
	for _, s := range sites {
		errs = append(errs, platform.InSite(s.Site.Name, result.add(s, users)))
	}
	return result, errors.Join(errs...)
}

// add adds the tags of a site. users are the sites of tags.
func (t *topology) add(s platform.ControlPlaneSite, users map[string]string) error {
	var (
		profile    = s.Site.Profile
		categories = profile.VSphere.Topology
		errs       = []error{checkCategory("regionCategory", categories.RegionCategory), checkCategory("zoneCategory", categories.ZoneCategory)}
		seen       []string
	)
	if categories.RegionCategory != t.categories.RegionCategory || categories.ZoneCategory != t.categories.ZoneCategory {
		errs = append(errs,
			mistake("vsphere.topology: the categories must be %q and %q, as at the other vSphere sites of the shoot", t.categories.RegionCategory,
				t.categories.ZoneCategory))
	}
	errs = append(errs, checkTag("region", profile.Region))
	for _, zone := range profile.Zones {
		if zone.VSphere == nil {
			continue
		}
		tag := vspheretopology.Tag(&zone)
		if slices.Contains(seen, tag) {
			continue
		}
		seen = append(seen, tag)
		errs = append(errs, checkTag("zone \""+zone.Name+"\": topologyTag", tag))
		switch user, used := users[tag]; {
		case tag == profile.Region:
			errs = append(errs,
				mistake("zone %q: topologyTag: %q is the tag of the region, too: the CSI driver does not tell tags apart by category", zone.Name, tag))
		case used && user != s.Site.Name:
			errs = append(errs,
				mistake("zone %q: topologyTag: %q is a tag of site %q, too, so that volumes of one would be wanted on nodes of the other", zone.Name,
					tag, user))
		}
		users[tag] = s.Site.Name
	}
	t.tags[s.Site.Name] = seen
	return errors.Join(errs...)
}

// checkCategory checks that the category can be in the list of categories and in the name of a label.
func checkCategory(field, category string) error {
	if problems := validation.IsQualifiedName(vspheretopology.Domain + category); len(problems) > 0 {
		return mistake("vsphere.topology.%s: %q cannot be the name of a node label: %s", field, category, strings.Join(problems, ", "))
	}
	return nil
}

func checkTag(field, tag string) error {
	if problems := validation.IsValidLabelValue(tag); len(problems) > 0 {
		return mistake("%s: %q cannot be the value of a node label: %s", field, tag, strings.Join(problems, ", "))
	}
	return nil
}

// allowed are the nodes of the site. The site's own label cannot be among the keys: the provisioner refuses terms with keys that the
// driver does not report for the node. Only nodes with the driver have the label of the category, and no two sites share a tag.
func (t *topology) allowed(siteName string) []corev1.TopologySelectorTerm {
	return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
		{Key: vspheretopology.Domain + t.categories.ZoneCategory, Values: t.tags[siteName]},
	}}}
}
