// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Contact is the host that the control plane of a shoot connects to in order to reach the API of a site.
type Contact struct {
	// What is what runs at the host: the API or its proxy.
	What string
	// Host is a name or an IP address.
	Host string
}

// ContactOf returns the contact of a site: the proxy if the API is reached through one, otherwise the API. It returns false if the
// addresses are invalid.
func ContactOf(site *v1alpha1.CloudProfileSite) (Contact, bool) {
	endpoint, err := url.Parse(site.Endpoint())
	if err != nil || endpoint.Hostname() == "" {
		return Contact{}, false
	}
	if site.Proxy == nil {
		return Contact{What: "the API", Host: endpoint.Hostname()}, true
	}
	config := httpproxy.Config{HTTPProxy: site.Proxy.URL, HTTPSProxy: site.Proxy.URL, NoProxy: strings.Join(site.Proxy.NoProxy, ",")}
	proxy, err := config.ProxyFunc()(endpoint)
	switch {
	case err != nil:
		return Contact{}, false
	case proxy == nil:
		return Contact{What: "the API", Host: endpoint.Hostname()}, true
	default:
		return Contact{What: "the proxy of the API", Host: proxy.Hostname()}, true
	}
}

// Addr returns the IP address of the contact, and false if it has a name.
func (c Contact) Addr() (netip.Addr, bool) {
	addr, err := netip.ParseAddr(c.Host)
	return addr.Unmap(), err == nil
}

// ShootNetwork is an address range of a shoot.
type ShootNetwork struct {
	// Name is what uses the range, such as "pods".
	Name string
	// Prefix is the range.
	Prefix netip.Prefix
}

// ShootNetworks returns the valid node, pod and service ranges of a shoot. networking may be nil.
func ShootNetworks(config *v1alpha1.InfrastructureConfig, networking *gardencorev1beta1.Networking) []ShootNetwork {
	var networks []ShootNetwork
	add := func(name string, cidrs ...string) {
		for _, cidr := range cidrs {
			if prefix, err := netip.ParsePrefix(cidr); err == nil {
				networks = append(networks, ShootNetwork{Name: name, Prefix: prefix.Masked()})
			}
		}
	}
	add("nodes", config.Networks.Nodes...)
	for i := range config.Sites {
		add("nodes", config.Sites[i].Nodes...)
	}
	if networking != nil {
		for _, network := range []struct {
			name string
			cidr *string
		}{{"nodes", networking.Nodes}, {"pods", networking.Pods}, {"services", networking.Services}} {
			if network.cidr != nil {
				add(network.name, *network.cidr)
			}
		}
	}
	return networks
}

// carrierGradeNAT is treated like a private network by Gardener.
var carrierGradeNAT = netip.MustParsePrefix("100.64.0.0/10")

// BlockedAt returns the network that keeps the control plane from the address, and false if none does. Gardener allows its pods to connect
// to private networks except those of the shoot (reconcileNetworkPolicyAllowToPrivateNetworks in pkg/controller/networkpolicy of Gardener).
// Public addresses are allowed even if they are in a network of the shoot.
func BlockedAt(addr netip.Addr, networks []ShootNetwork) (ShootNetwork, bool) {
	addr = addr.Unmap().WithZone("")
	if !addr.IsPrivate() && !addr.IsLinkLocalUnicast() && !carrierGradeNAT.Contains(addr) {
		return ShootNetwork{}, false
	}
	for _, network := range networks {
		if network.Prefix.Contains(addr) {
			return network, true
		}
	}
	return ShootNetwork{}, false
}

// BlockedMessage says why the contact at the address cannot be reached, and what to do.
func BlockedMessage(contact Contact, addr netip.Addr, network ShootNetwork) string {
	at := addr.String()
	if contact.Host != at {
		at = fmt.Sprintf("%s, whose address is %s", contact.Host, at)
	}
	return fmt.Sprintf("%s of the site is at %s, which is in the range %s of the Shoot's %s: Gardener's NetworkPolicies keep the control "+
		"plane from the Shoot's own ranges; choose ranges without this address", contact.What, at, network.Prefix, network.Name)
}

// ValidateEndpoints checks that no site's API or proxy has an IP address in the shoot's own ranges. Names are not resolved. networking may
// be nil. fldPath is the path of the InfrastructureConfig.
func ValidateEndpoints(config *v1alpha1.InfrastructureConfig, profile *v1alpha1.CloudProfileConfig,
	networking *gardencorev1beta1.Networking, fldPath *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	var (
		allErrs  field.ErrorList
		networks = ShootNetworks(config, networking)
	)
	for i := range config.Sites {
		site := helper.FindSite(profile, config.Sites[i].Name)
		if site == nil {
			continue
		}
		contact, ok := ContactOf(site)
		if !ok {
			continue
		}
		addr, ok := contact.Addr()
		if !ok {
			continue
		}
		if network, blocked := BlockedAt(addr, networks); blocked {
			allErrs = append(allErrs,
				field.Invalid(fldPath.Child("sites").Index(i).Child("name"), site.Name, BlockedMessage(contact, addr, network)))
		}
	}
	return allErrs
}

// EndpointsInShoots returns warnings about sites whose API or proxy has a new IP address in ranges of Shoots that use the site. old may be
// nil. fldPath is the path of the configuration.
func EndpointsInShoots(config, old *v1alpha1.CloudProfileConfig, uses []ProfileUse, fldPath *field.Path) []string {
	var warnings []string
	for i := range config.Sites {
		site := &config.Sites[i]
		contact, ok := ContactOf(site)
		if !ok {
			continue
		}
		addr, ok := contact.Addr()
		if !ok {
			continue
		}
		if before := helper.FindSite(old, site.Name); before != nil {
			if known, ok := ContactOf(before); ok && known == contact {
				continue
			}
		}
		shoots := shootsWith(uses, func(use ProfileUse) bool {
			if !slices.Contains(use.Sites, site.Name) || use.Networks == nil {
				return false
			}
			_, blocked := BlockedAt(addr, use.Networks())
			return blocked
		})
		if len(shoots) > 0 {
			warnings = append(warnings,
				fmt.Sprintf("%s: %s of site %q is at %s, which is in node, pod or service ranges of Shoots, whose control planes cannot reach it: %s",
					fldPath.Child("sites").Index(i), contact.What, site.Name, addr, someOf(shoots)))
		}
	}
	return warnings
}
