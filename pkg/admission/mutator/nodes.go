// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"fmt"
	"net/netip"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
)

// setNodeRanges defaults the ranges of a Stretched node network: that of the network, which equals that of the Shoot, and those of the
// sites. A site that had a range keeps it.
func setNodeRanges(newShoot, oldShoot *gardencorev1beta1.Shoot, fldPath *field.Path) error {
	config, ok := decode[v1alpha1.InfrastructureConfig](newShoot.Spec.Provider.InfrastructureConfig)
	if !ok || config.Networks.Topology != v1alpha1.TopologyStretched {
		return nil
	}
	old, ok := decode[v1alpha1.InfrastructureConfig](oldShoot.Spec.Provider.InfrastructureConfig)
	if !ok || old.Networks.Topology != v1alpha1.TopologyStretched {
		old = &v1alpha1.InfrastructureConfig{}
	}

	changed := setNetworkRange(config, old, newShoot.Spec.Networking)
	if networks, ok := parseNetworks(config.Networks.Nodes); ok {
		setShootRange(newShoot, config.Networks.Nodes[0])
		divider := divider{
			config: config, old: old, networks: networks,
			taken:     taken(config, old, newShoot.Spec.Provider),
			unsettled: credentials.Unsettled(oldShoot),
		}
		divided, err := divider.divide(fldPath)
		if err != nil {
			return err
		}
		changed = changed || divided
	}
	if !changed {
		return nil
	}
	raw, err := codec.Encode(config)
	if err != nil {
		return fmt.Errorf("%s: %w", fldPath, err)
	}
	newShoot.Spec.Provider.InfrastructureConfig = raw
	return nil
}

// setNetworkRange defaults networks.nodes to its old value or to the range of the Shoot, and reports whether it did.
func setNetworkRange(config, old *v1alpha1.InfrastructureConfig, networking *gardencorev1beta1.Networking) bool {
	switch {
	case len(config.Networks.Nodes) > 0:
		return false
	case len(old.Networks.Nodes) > 0:
		config.Networks.Nodes = slices.Clone(old.Networks.Nodes)
	case networking != nil && networking.Nodes != nil:
		config.Networks.Nodes = []string{*networking.Nodes}
	default:
		return false
	}
	v1alpha1.SetInfrastructureConfigDefaults(config)
	return true
}

// setShootRange defaults the range of the Shoot, so that Gardener can compare it with those of the seed.
func setShootRange(shoot *gardencorev1beta1.Shoot, nodes string) {
	if shoot.Spec.Networking != nil && shoot.Spec.Networking.Nodes == nil {
		shoot.Spec.Networking.Nodes = &nodes
	}
}

// parseNetworks returns false unless all values are CIDRs.
func parseNetworks(cidrs []string) ([]netip.Prefix, bool) {
	networks := make([]netip.Prefix, 0, len(cidrs))
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil || prefix != prefix.Masked() {
			return nil, false
		}
		networks = append(networks, prefix)
	}
	return networks, len(networks) > 0
}

// taken returns the addresses that are in use: those of sites, of sites that are being removed and may still have nodes, and of load
// balancers.
func taken(config, old *v1alpha1.InfrastructureConfig, provider gardencorev1beta1.Provider) []netipx.IPRange {
	var values []string
	for _, site := range slices.Concat(config.Sites, old.Sites) {
		values = append(values, site.Nodes...)
	}
	if controlPlane, ok := decode[v1alpha1.ControlPlaneConfig](provider.ControlPlaneConfig); ok {
		for _, site := range controlPlane.Sites {
			if site.LoadBalancer == nil || site.LoadBalancer.MetalLB == nil {
				continue
			}
			for _, pool := range site.LoadBalancer.MetalLB.AddressPools {
				values = append(values, pool.CIDRs...)
			}
		}
	}

	var result []netipx.IPRange
	for _, value := range values {
		if parsed, ok := validation.ParseAddressRange(value); ok {
			result = append(result, parsed)
		}
	}
	return result
}

// divider assigns ranges to the sites without one.
type divider struct {
	config, old *v1alpha1.InfrastructureConfig
	networks    []netip.Prefix
	taken       []netipx.IPRange
	// unsettled is the reason why previously removed sites, whose ranges are unknown, may still have nodes. It is empty if there are none.
	unsettled string
}

func (d *divider) divide(fldPath *field.Path) (bool, error) {
	changed := false
	for i := range d.config.Sites {
		site := &d.config.Sites[i]
		if len(site.Nodes) > 0 {
			continue
		}
		changed = true
		before := lists.Find(d.old.Sites, func(s *v1alpha1.InfrastructureSite) bool { return s.Name == site.Name })
		if before != nil && len(before.Nodes) > 0 {
			site.Nodes = slices.Clone(before.Nodes)
			continue
		}
		nodesPath := fldPath.Child("sites").Index(i).Child("nodes")
		if d.unsettled != "" {
			return false, field.Required(nodesPath,
				fmt.Sprintf("must be set for site %q: the Shoot may still have nodes of a removed site in networks.nodes: %s",
					site.Name, d.unsettled))
		}
		for _, network := range d.networks {
			part, ok := freePart(network, len(d.config.Sites), d.taken)
			if !ok {
				return false, field.Invalid(nodesPath, site.Nodes,
					fmt.Sprintf("networks.nodes %s has no free range of /%d or larger for site %q; "+
						"set nodes of the site, or use smaller ranges for other sites and load balancers",
						network, smallestBits(network), site.Name))
			}
			site.Nodes = append(site.Nodes, part.String())
			d.taken = append(d.taken, netipx.RangeOfPrefix(part))
		}
	}
	return changed, nil
}
