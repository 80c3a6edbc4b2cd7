// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"net/netip"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// resolveNetworks returns the network of each site of the configuration.
func resolveNetworks(input Input) ([]Network, error) {
	profile, config := input.Profile, input.Config
	if config == nil {
		return nil, nil
	}

	whole, err := parsePrefixes(config.Networks.Nodes)
	if err != nil {
		return nil, fmt.Errorf("infrastructureConfig.networks.nodes: %w", err)
	}
	wholeGateway, err := parseAddr(config.Networks.Gateway)
	if err != nil {
		return nil, fmt.Errorf("infrastructureConfig.networks.gateway: %w", err)
	}

	pods, err := parsePrefixes(input.Pods)
	if err != nil {
		return nil, fmt.Errorf("networking.pods: %w", err)
	}

	networks := make([]Network, len(config.Sites))
	for i := range config.Sites {
		site := &config.Sites[i]
		network := &networks[i]
		network.Topology = config.Networks.Topology
		network.Pods = pods
		if network.Nodes, err = parsePrefixes(site.Nodes); err != nil {
			return nil, fmt.Errorf("site %q: infrastructureConfig.sites.nodes: %w", site.Name, err)
		}
		if network.Gateway, err = parseAddr(site.Gateway); err != nil {
			return nil, fmt.Errorf("site %q: infrastructureConfig.sites.gateway: %w", site.Name, err)
		}
		network.DNSServers = site.DNSServers
		if siteProfile := findProfile(profile, site.Name); len(network.DNSServers) == 0 && siteProfile != nil {
			network.DNSServers = siteProfile.DNSServers
		}
		network.MTU = mtuOf(profile, config, site)

		switch network.Topology {
		case v1alpha1.TopologyStretched:
			network.Subnets = whole
			if !network.Gateway.IsValid() {
				network.Gateway = wholeGateway
			}
		case v1alpha1.TopologyRouted:
			network.Subnets = network.Nodes
			if !network.Gateway.IsValid() && len(network.Nodes) > 0 {
				network.Gateway = network.Nodes[0].Masked().Addr().Next()
			}
		default:
			return nil, fmt.Errorf("infrastructureConfig.networks.topology: %q must be one of %q", network.Topology,
				[]v1alpha1.Topology{v1alpha1.TopologyStretched, v1alpha1.TopologyRouted})
		}
	}

	for i := range networks {
		for j := range networks {
			if i != j {
				networks[i].Foreign = append(networks[i].Foreign, networks[j].Nodes...)
			}
		}
	}
	return networks, nil
}

// mtuOf returns the first of what the site says, the network as a whole says, and the CloudProfile says: for Stretched the
// smallest of all sites, because they share one L2.
func mtuOf(profile *v1alpha1.CloudProfileConfig, config *v1alpha1.InfrastructureConfig, site *v1alpha1.InfrastructureSite) int32 {
	if site.MTU != nil {
		return *site.MTU
	}
	if config.Networks.MTU != nil {
		return *config.Networks.MTU
	}
	sharing := []v1alpha1.InfrastructureSite{*site}
	if config.Networks.Topology == v1alpha1.TopologyStretched {
		sharing = config.Sites
	}
	var smallest int32
	for i := range sharing {
		siteProfile := findProfile(profile, sharing[i].Name)
		if siteProfile == nil || siteProfile.MTU == nil {
			continue
		}
		if smallest == 0 || *siteProfile.MTU < smallest {
			smallest = *siteProfile.MTU
		}
	}
	return smallest
}

func parsePrefixes(cidrs []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, 0, len(cidrs))
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return nil, fmt.Errorf("%q must be a CIDR", cidr)
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

func parseAddr(address string) (netip.Addr, error) {
	if address == "" {
		return netip.Addr{}, nil
	}
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q must be an IP address", address)
	}
	return addr, nil
}
