// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

func (f *flow) orphanedLoadBalancers(ctx context.Context) ([]v1alpha1.Orphan, error) {
	lb, err := f.loadBalancing(ctx)
	if lb == nil || err != nil {
		return nil, err
	}
	found, err := lb.list(ctx)
	return orphansOf(f, "load balancer", found, func(lb loadbalancers.LoadBalancer) (string, string) { return lb.ID, lb.Name }), err
}

func (f *flow) orphanedFloatingIPs(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedFloatingIPs(ctx)
	return orphansOf(f, "floating IP", found, func(ip floatingips.FloatingIP) (string, string) { return ip.ID, ip.FloatingIP }), err
}

func (f *flow) orphanedPorts(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownPorts(ctx)
	return orphansOf(f, "port", found, func(p ports.Port) (string, string) { return p.ID, p.Name }), err
}

func (f *flow) orphanedSecurityGroups(ctx context.Context) ([]v1alpha1.Orphan, error) {
	own, ownErr := f.ownedSecurityGroups(ctx)
	ofServices, servicesErr := f.serviceSecurityGroups(ctx)
	identify := func(g groups.SecGroup) (string, string) { return g.ID, g.Name }
	return orphansOf(f, "security group", slices.Concat(own, ofServices), identify), errors.Join(ownErr, servicesErr)
}

func (f *flow) orphanedSubnets(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedSubnets(ctx)
	return orphansOf(f, "subnet", found, func(s subnets.Subnet) (string, string) { return s.ID, s.Name }), err
}

func (f *flow) orphanedNetworks(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedNetworks(ctx)
	return orphansOf(f, "network", found, func(n network) (string, string) { return n.ID, n.Name }), err
}

func (f *flow) orphanedRouters(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedRouters(ctx)
	return orphansOf(f, "router", found, func(r routers.Router) (string, string) { return r.ID, r.Name }), err
}

func (f *flow) orphanedShareNetworks(ctx context.Context) ([]v1alpha1.Orphan, error) {
	found, err := f.ownedShareNetworks(ctx)
	return orphansOf(f, "share network", found, func(n sharenetworks.ShareNetwork) (string, string) { return n.ID, n.Name }), err
}
