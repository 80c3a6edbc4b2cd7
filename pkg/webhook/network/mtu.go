// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// ethernetMTU is what a node network carries of which nobody said anything else, in bytes.
const ethernetMTU = 1500

// smallestMTU returns the smallest MTU of the sites' node networks, in bytes; zero without sites. For each site it is the smaller
// one of what was configured and what the platform discovered.
func smallestMTU(sites []site.Site, status *v1alpha1.InfrastructureStatus) int32 {
	var smallest int32
	for i := range sites {
		mtu := sites[i].Network.MTU
		if found := slices.IndexFunc(status.Sites, func(s v1alpha1.SiteStatus) bool { return s.Name == sites[i].Name }); found >= 0 {
			mtu = smaller(mtu, status.Sites[found].DiscoveredMTU())
		}
		if mtu == 0 {
			mtu = ethernetMTU
		}
		smallest = smaller(smallest, mtu)
	}
	return smallest
}

// smaller returns the smaller of two MTUs of which zero is not known.
func smaller(a, b int32) int32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
