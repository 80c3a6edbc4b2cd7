// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/vspherecsi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// withTopology returns the sites if the driver serves them, which it does for all sites of a shoot or for none. The admission has applied
// the same rules; the CloudProfile may have changed since.
func withTopology(sites []platform.ControlPlaneSite) ([]platform.ControlPlaneSite, error) {
	var (
		errs     []error
		profiles []*v1alpha1.CloudProfileSite
	)
	for _, s := range sites {
		if err := checkProfile(s); err != nil {
			errs = append(errs, platform.InSite(s.Site.Name, err))
			continue
		}
		profiles = append(profiles, s.Site.Profile)
		for _, problem := range vspherecsi.ValidateSite(s.Site.Profile, nil) {
			errs = append(errs, platform.InSite(s.Site.Name, mistake("%w", problem)))
		}
	}
	for _, conflict := range vspherecsi.Conflicts(profiles) {
		errs = append(errs, platform.InSite(conflict.Site, mistake("%s", conflict.Message)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(sites),
		func(s platform.ControlPlaneSite) bool { return s.Site.Profile.VSphere.Topology == nil }), nil
}

// allowedTopologies are the nodes of the site. The site's own label cannot be among the keys: the provisioner refuses terms with keys that
// the driver does not report for the node. Only nodes with the driver have the label of the category, and no two sites share a tag.
func allowedTopologies(profile *v1alpha1.CloudProfileSite) []corev1.TopologySelectorTerm {
	var tags []string
	for i := range profile.Zones {
		if profile.Zones[i].VSphere == nil {
			continue
		}
		if tag := vspherecsi.Tag(&profile.Zones[i]); !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
		{Key: vspherecsi.Domain + profile.VSphere.Topology.ZoneCategory, Values: tags},
	}}}
}
