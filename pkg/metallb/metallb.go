// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package metallb generates the values of the MetalLB chart from the load balancer settings of the sites.
package metallb

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ChartName is the name of the chart in shoot-system-components.
const ChartName = "metallb"

// Images returns the names of the images that the chart uses.
func Images() []string {
	return []string{"metallb-controller", "metallb-speaker"}
}

// ChartValues are the values of the chart.
type ChartValues struct {
	// Sites are the sites with MetalLB, each with its own instance.
	Sites []SiteValues `json:"sites"`
}

// SiteValues are the values of a site's instance.
type SiteValues struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// LoadBalancerClass is the class of the Services that the instance serves. If it is empty, it serves the Services without a class.
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`
	// Pools are the pools of addresses.
	Pools []PoolValues `json:"pools"`
	// L2Pools are the names of the pools that are announced in the node network.
	L2Pools []string `json:"l2Pools,omitempty"`
	// BGPPools are the names of the pools that are announced to the peers.
	BGPPools []string `json:"bgpPools,omitempty"`
	// Peers are the routers.
	Peers []PeerValues `json:"peers,omitempty"`
}

// PoolValues are the values of an IPAddressPool.
type PoolValues struct {
	// Name is the name of the pool.
	Name string `json:"name"`
	// Addresses are CIDRs and ranges.
	Addresses []string `json:"addresses"`
	// AutoAssign is false if only Services that name the pool get its addresses.
	AutoAssign bool `json:"autoAssign"`
}

// PeerValues are the values of a BGPPeer.
type PeerValues struct {
	// Name is the name of the peer.
	Name string `json:"name"`
	// Address is the IP address of the router.
	Address string `json:"address"`
	// Port is the port of the router.
	Port int32 `json:"port"`
	// ASN is the number of the router's autonomous system.
	ASN uint32 `json:"asn"`
	// LocalASN is the number of the nodes' autonomous system.
	LocalASN uint32 `json:"localASN"`
	// MultiHop says that the router is more than one hop away.
	MultiHop bool `json:"multiHop,omitempty"`
}

// Values returns the values for the sites with MetalLB, or nil if there are none. The instance of the default site serves Services without
// a class, and so cannot serve a class, too.
func Values(sites []v1alpha1.ControlPlaneSite, defaultSite string) *ChartValues {
	values := &ChartValues{}
	for i := range sites {
		balancer := sites[i].LoadBalancer
		if balancer == nil || balancer.MetalLB == nil {
			continue
		}
		site := siteValues(sites[i].Name, balancer.MetalLB)
		if site.Name != defaultSite {
			site.LoadBalancerClass = v1alpha1.LoadBalancerClassPrefix + site.Name
		}
		values.Sites = append(values.Sites, site)
	}
	if len(values.Sites) == 0 {
		return nil
	}
	return values
}

func siteValues(name string, config *v1alpha1.MetalLB) SiteValues {
	site := SiteValues{Name: name}
	for _, pool := range config.AddressPools {
		site.Pools = append(site.Pools,
			PoolValues{Name: pool.Name, Addresses: pool.CIDRs, AutoAssign: pool.AutoAssign == nil || *pool.AutoAssign})
		switch pool.Advertisement {
		case v1alpha1.MetalLBAdvertisementL2:
			site.L2Pools = append(site.L2Pools, pool.Name)
		case v1alpha1.MetalLBAdvertisementBGP:
			site.BGPPools = append(site.BGPPools, pool.Name)
		}
	}
	if config.BGP == nil {
		return site
	}
	for _, peer := range config.BGP.Peers {
		port := peer.Port
		if port == 0 {
			port = 179
		}
		site.Peers = append(site.Peers, PeerValues{
			Name:     peerName(peer.Address, port),
			Address:  peer.Address,
			Port:     port,
			ASN:      peer.ASN,
			LocalASN: config.BGP.LocalASN,
			// MetalLB rejects it for routers of the nodes' own autonomous system, which may be any number of hops away.
			MultiHop: peer.EBGPMultiHop && peer.ASN != config.BGP.LocalASN,
		})
	}
	return site
}

// peerName depends only on the router, so that adding or removing a peer does not end the BGP sessions of others.
func peerName(address string, port int32) string {
	if parsed, err := netip.ParseAddr(address); err == nil {
		address = parsed.StringExpanded()
	}
	return "peer-" + strings.ToLower(strings.NewReplacer(".", "-", ":", "-", "%", "-").Replace(address)) + "-" + strconv.Itoa(int(port))
}
