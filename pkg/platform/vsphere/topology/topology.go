// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package topology has the node labels by which the CSI driver for vSphere knows where a node is.
package topology

import (
	"cmp"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Domain and a category are the label with the tag of a node's host, cluster or datacenter. The node service of the driver sets it,
// too.
const Domain = "topology.csi.vmware.com/"

// Tag is the tag of the category of zones that a zone of the site has.
func Tag(zone *v1alpha1.SiteZone) string {
	return cmp.Or(zone.VSphere.TopologyTag, zone.Name)
}

// Labels are the labels of the nodes of a zone. There are none if the site has no categories.
func Labels(profile *v1alpha1.CloudProfileSite, zone *v1alpha1.SiteZone) map[string]string {
	categories := profile.VSphere.Topology
	if categories == nil {
		return nil
	}
	return map[string]string{
		Domain + categories.RegionCategory: profile.Region,
		Domain + categories.ZoneCategory:   Tag(zone),
	}
}
