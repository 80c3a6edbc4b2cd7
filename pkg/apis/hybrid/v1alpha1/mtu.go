// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// DiscoveredMTU returns what the site's platform says that the node network carries, in bytes; zero if it says nothing.
func (s *SiteStatus) DiscoveredMTU() int32 {
	if status, ok := blockWith[interface{ DiscoveredMTU() int32 }](s); ok {
		return status.DiscoveredMTU()
	}
	return 0
}
