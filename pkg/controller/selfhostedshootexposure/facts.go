// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package selfhostedshootexposure

import (
	"context"
	"net/netip"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/operation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// facts are everything that is known about an exposure without requests to sites.
type facts struct {
	shootsites.Facts

	// recorded is the name of the site that the load balancer is on, empty if nothing was created yet.
	recorded string
	// pool is the pool of the control plane, nil if the shoot has none.
	pool *gardencorev1beta1.Worker
}

// read returns an error if documents cannot be read that every operation needs.
func (a *actuator) read(ctx context.Context, exposure *extensionsv1alpha1.SelfHostedShootExposure,
	cluster *extensionscontroller.Cluster) (*facts, error) {
	ofShoot, err := shootsites.ReadFacts(ctx, a.reader, exposure.Namespace, cluster)
	if err != nil {
		return nil, err
	}
	recorded, err := shootsites.DecodeOptional[v1alpha1.SelfHostedShootExposureStatus]("status.providerStatus", exposure.Status.ProviderStatus)
	if err != nil {
		return nil, err
	}
	pool := v1beta1helper.ControlPlaneWorkerPoolForShoot(cluster.Shoot.Spec.Provider.Workers)
	return &facts{Facts: ofShoot, recorded: recorded.Site, pool: pool}, nil
}

// checkInUse returns an error if the shoot has no infrastructure that a load balancer could be added to.
func (f *facts) checkInUse() error {
	switch {
	case f.Infra == nil:
		return platform.NewError(platform.ClassTransient, "the shoot has no Infrastructure yet")
	case f.Infra.DeletionTimestamp != nil:
		return platform.NewError(platform.ClassConflict, "the Infrastructure of the shoot is being deleted")
	case operation.Migrates(f.Infra):
		return platform.NewError(platform.ClassConflict, "the control plane of the shoot is moving")
	default:
		return f.Mistakes
	}
}

// site returns the site of the pool of the control plane.
func (f *facts) site() (*site.Site, error) {
	if f.pool == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the shoot has no pool for its control plane")
	}
	var found *site.Site
	for _, zone := range f.pool.Zones {
		s, _ := site.FindZone(f.Sites, zone)
		switch {
		case s == nil || s.Removed():
			return nil, platform.NewError(platform.ClassConfiguration, "zone %q of pool %q is on none of the shoot's sites", zone, f.pool.Name)
		case found != nil && found.Name != s.Name:
			return nil, platform.NewError(platform.ClassConfiguration, "pool %q of the control plane must be on one site, but is on %q and %q; "+
				"set controlPlane.exposure.dns of the pool instead of extension", f.pool.Name, found.Name, s.Name)
		}
		found = s
	}
	if found == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "pool %q of the control plane has no zones", f.pool.Name)
	}
	return found, nil
}

// endpointsOf returns the addresses of the nodes in the node network of the site, in order and each once. Addresses are what nodes say
// about themselves: a node must not be able to send the traffic of the API servers elsewhere.
func endpointsOf(exposure *extensionsv1alpha1.SelfHostedShootExposure, s *site.Site) ([]netip.Addr, error) {
	var result []netip.Addr
	for i, endpoint := range exposure.Spec.Endpoints {
		address, ok := nodeAddress(endpoint.Addresses, s.Network.Nodes)
		if !ok {
			return nil, platform.InSite(s.Name, platform.NewError(platform.ClassConfiguration,
				"spec.endpoints[%d].addresses: node %q must have an InternalIP in the ranges %s of the site's nodes", i,
				platform.Printable(endpoint.NodeName), s.Network.Nodes))
		}
		result = append(result, address)
	}
	if len(result) == 0 {
		return nil, platform.NewError(platform.ClassTransient, "spec.endpoints: there is no node yet")
	}
	slices.SortFunc(result, netip.Addr.Compare)
	return slices.Compact(result), nil
}

func nodeAddress(addresses []corev1.NodeAddress, ranges []netip.Prefix) (netip.Addr, bool) {
	for _, given := range addresses {
		if given.Type != corev1.NodeInternalIP {
			continue
		}
		address, err := netip.ParseAddr(given.Address)
		if err == nil && address.Zone() == "" && slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(address) }) {
			return address, true
		}
	}
	return netip.Addr{}, false
}
