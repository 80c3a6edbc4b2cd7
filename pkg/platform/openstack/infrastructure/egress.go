// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"net/netip"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
)

// egressCIDRs are the external addresses of the router, if it translates those of the nodes to them. It does unless that is
// switched off. IPv6 addresses are not translated.
func egressCIDRs(gateway *routers.GatewayInfo) []string {
	if gateway.EnableSNAT != nil && !*gateway.EnableSNAT {
		return nil
	}
	var cidrs []string
	for _, ip := range gateway.ExternalFixedIPs {
		if address, err := netip.ParseAddr(ip.IPAddress); err == nil && address.Is4() {
			cidrs = append(cidrs, netip.PrefixFrom(address, address.BitLen()).String())
		}
	}
	return cidrs
}
