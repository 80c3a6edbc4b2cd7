// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// result is what a reconciliation came to so far.
type result struct {
	config  *v1alpha1.InfrastructureConfig
	cluster *extensionscontroller.Cluster
	// earlier is what the last reconciliation came to.
	earlier *v1alpha1.InfrastructureStatus
	// ready are the sites that came to something else by now, by name.
	ready map[string]*v1alpha1.SiteStatus
}

// sites lists the sites in the order of the configuration. A site that is not ready keeps what it came to earlier.
func (r *result) sites() []v1alpha1.SiteStatus {
	var statuses []v1alpha1.SiteStatus
	for _, s := range r.config.Sites {
		if status, ok := r.ready[s.Name]; ok {
			statuses = append(statuses, *status)
		} else if status := findStatus(r.earlier, s.Name); status != nil {
			statuses = append(statuses, *status)
		}
	}
	return statuses
}

func findStatus(status *v1alpha1.InfrastructureStatus, name string) *v1alpha1.SiteStatus {
	if i := slices.IndexFunc(status.Sites, func(s v1alpha1.SiteStatus) bool { return s.Name == name }); i >= 0 {
		return &status.Sites[i]
	}
	return nil
}

// networking is the node network of the whole shoot, as Gardener reads it: for Stretched the one network, for Routed the
// ranges of all sites in their order.
func (r *result) networking() *extensionsv1alpha1.InfrastructureStatusNetworking {
	networking := &extensionsv1alpha1.InfrastructureStatusNetworking{}
	if r.config.Networks.Topology == v1alpha1.TopologyStretched {
		networking.Nodes = slices.Clone(r.config.Networks.Nodes)
	} else {
		for _, s := range r.config.Sites {
			networking.Nodes = append(networking.Nodes, s.Nodes...)
		}
	}
	if shoot := r.cluster.Shoot; shoot != nil && shoot.Spec.Networking != nil {
		if pods := shoot.Spec.Networking.Pods; pods != nil {
			networking.Pods = []string{*pods}
		}
		if services := shoot.Spec.Networking.Services; services != nil {
			networking.Services = []string{*services}
		}
	}
	return networking
}

// egressCIDRs are those of all sites in their order, each once, and none if a site has none: whoever lets them in would lock
// out that site's nodes.
func (r *result) egressCIDRs(sites []v1alpha1.SiteStatus) []string {
	if len(sites) < len(r.config.Sites) {
		return nil
	}
	var cidrs []string
	for _, s := range sites {
		if len(s.EgressCIDRs) == 0 {
			return nil
		}
		for _, cidr := range s.EgressCIDRs {
			if !slices.Contains(cidrs, cidr) {
				cidrs = append(cidrs, cidr)
			}
		}
	}
	return cidrs
}
