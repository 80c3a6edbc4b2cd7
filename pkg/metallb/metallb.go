// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package metallb says what the chart of MetalLB is to make of the settings of the sites whose nodes are their load balancers.
package metallb

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ChartName is the name of the chart in shoot-system-components.
const ChartName = "metallb"

// Images are the names of the images that the chart uses.
func Images() []string {
	return []string{"metallb-controller", "metallb-speaker"}
}

// ChartValues are the values of the chart. They are encoded as JSON.
type ChartValues struct {
	// Sites are the sites with MetalLB. Each has an instance of its own.
	Sites []SiteValues `json:"sites"`
}

// SiteValues are the values of the instance of a site.
type SiteValues struct {
	// Name is the name of the site.
	Name string `json:"name"`
	// LoadBalancerClass is the class of the Services that the instance serves. If it is empty these are the Services without a class.
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`
	// Pools are the pools of addresses.
	Pools []PoolValues `json:"pools"`
	// L2Pools are the names of those pools that are announced in the node network.
	L2Pools []string `json:"l2Pools,omitempty"`
	// BGPPools are the names of those pools that are announced to the peers.
	BGPPools []string `json:"bgpPools,omitempty"`
	// Peers are the routers.
	Peers []PeerValues `json:"peers,omitempty"`
}

// PoolValues are an IPAddressPool.
type PoolValues struct {
	// Name is the name of the pool.
	Name string `json:"name"`
	// Addresses are CIDRs and ranges.
	Addresses []string `json:"addresses"`
	// AutoAssign is false if only Services that name the pool get its addresses.
	AutoAssign bool `json:"autoAssign"`
}

// PeerValues are a BGPPeer.
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

// Values returns the values for the sites, of which those without MetalLB do not count, and nil if no site has MetalLB. The instance
// of the default site serves Services without a class and cannot serve a class beside.
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
			// MetalLB refuses it for routers of the nodes' own system, which may be any number of hops away.
			MultiHop: peer.EBGPMultiHop && peer.ASN != config.BGP.LocalASN,
		})
	}
	return site
}

// peerName depends on the router alone, so that the session of one peer does not end when another is added or removed.
func peerName(address string, port int32) string {
	if parsed, err := netip.ParseAddr(address); err == nil {
		address = parsed.StringExpanded()
	}
	return "peer-" + strings.ToLower(strings.NewReplacer(".", "-", ":", "-", "%", "-").Replace(address)) + "-" + strconv.Itoa(int(port))
}
