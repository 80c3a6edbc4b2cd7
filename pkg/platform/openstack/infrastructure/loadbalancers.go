// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	// loadBalancersTimeout limits how long a deletion waits for load balancers. The next deletion continues.
	loadBalancersTimeout = 3 * time.Minute
	// loadBalancerOwner is the device owner of the ports of load balancers.
	loadBalancerOwner = "Octavia"
)

// loadBalancing finds the shoot's load balancers on the site.
type loadBalancing struct {
	*flow
	service *gophercloud.ServiceClient
	project string
	subnets []string
	// members caches whether the members of a load balancer belong to the site.
	members map[string]bool
}

// newLoadBalancing returns nil if the site has no load balancing service.
func newLoadBalancing(ctx context.Context, f *flow) (*loadBalancing, error) {
	service, err := f.session.LoadBalancer(ctx)
	if errors.Is(err, client.ErrNoService) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	project, err := f.session.ProjectID()
	if err != nil {
		return nil, err
	}
	ids, err := subnetKind.usedIDs(ctx, f)
	if err != nil {
		return nil, err
	}
	return &loadBalancing{flow: f, service: service, project: project, subnets: ids, members: map[string]bool{}}, nil
}

// deleteLoadBalancers deletes the load balancers of the shoot's Services and API servers on the site with everything that belongs to them,
// and waits until they are gone because their ports block the subnet.
func deleteLoadBalancers(ctx context.Context, f *flow) error {
	lb, err := newLoadBalancing(ctx, f)
	if lb == nil || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loadBalancersTimeout)
	defer cancel()

	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		left, err := lb.list(ctx)
		if platform.ClassOf(err) == platform.ClassForbidden {
			return lb.forbidden(ctx, err)
		}
		if err != nil || len(left) == 0 {
			return err
		}
		if err := lb.delete(ctx, left); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return platform.NewError(platform.ClassTransient, "load balancers are not deleted yet: %s", describe(left))
		case <-time.After(poll):
		}
	}
}

// delete starts the deletion of load balancers that no other request is changing.
func (lb *loadBalancing) delete(ctx context.Context, found []loadbalancers.LoadBalancer) error {
	for i := range found {
		if strings.HasPrefix(found[i].ProvisioningStatus, "PENDING_") {
			continue
		}
		if err := deleteFloatingIPsOf(ctx, lb.flow, found[i].VipPortID); err != nil {
			return err
		}
		err := loadbalancers.Delete(ctx, lb.service, found[i].ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
		if gophercloud.ResponseCodeIs(err, http.StatusConflict) {
			continue
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}

// list returns the shoot's load balancers on the site.
func (lb *loadBalancing) list(ctx context.Context) ([]loadbalancers.LoadBalancer, error) {
	found, err := client.List(ctx, loadbalancers.List(lb.service, loadbalancers.ListOpts{ProjectID: lb.project}),
		loadbalancers.ExtractLoadBalancers)
	if err != nil {
		return nil, err
	}
	var own []loadbalancers.LoadBalancer
	for i := range found {
		if found[i].Description == lb.owner.OfExposure().Description() {
			own = append(own, found[i]) // its mark has the site
			continue
		}
		if !lb.owner.OwnsLoadBalancer(found[i].Name) {
			continue
		}
		here, err := lb.isHere(ctx, &found[i])
		if err != nil {
			return nil, err
		}
		if here {
			own = append(own, found[i])
		}
	}
	return own, nil
}

// isHere reports whether a load balancer of the shoot belongs to the site: another site may be in the same project. It does if its address
// is in the nodes' subnet, or if all of its members are nodes of the site.
func (lb *loadBalancing) isHere(ctx context.Context, balancer *loadbalancers.LoadBalancer) (bool, error) {
	if slices.Contains(lb.subnets, balancer.VipSubnetID) {
		return true, nil
	}
	if here, ok := lb.members[balancer.ID]; ok {
		return here, nil
	}
	var members []pools.Member
	for _, pool := range balancer.Pools {
		found, err := client.List(ctx, pools.ListMembers(lb.service, pool.ID, nil), pools.ExtractMembers)
		if err != nil && !client.IsNotFound(err) {
			return false, err
		}
		members = append(members, found...)
	}
	here := lb.lead(members)
	lb.members[balancer.ID] = here
	return here, nil
}

// lead reports whether the members are the site's nodes. Without members the site is unknown; the result is then true only if the whole
// shoot is deleted.
func (lb *loadBalancing) lead(members []pools.Member) bool {
	if len(members) == 0 {
		return !lb.site.Removed()
	}
	nodes := lb.nodeRanges()
	return !slices.ContainsFunc(members, func(member pools.Member) bool {
		if member.SubnetID != "" {
			return !slices.Contains(lb.subnets, member.SubnetID)
		}
		return !nodes.contain(member.Address)
	})
}

// forbidden returns the error that load balancers cannot be listed only if the site has any: credentials without access to the service
// cannot have created any.
func (lb *loadBalancing) forbidden(ctx context.Context, listErr error) error {
	for _, id := range lb.subnets {
		found, err := client.List(ctx, ports.List(lb.network, ports.ListOpts{
			DeviceOwner: loadBalancerOwner,
			FixedIPs:    []ports.FixedIPOpts{{SubnetID: id}},
		}), ports.ExtractPorts)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("subnet %s has ports of load balancers: %w", id, listErr)
		}
	}
	return nil
}

func describe(found []loadbalancers.LoadBalancer) string {
	return strings.Join(lists.Map(found, func(lb loadbalancers.LoadBalancer) string {
		return fmt.Sprintf("%s (%s)", lb.Name, lb.ProvisioningStatus)
	}), ", ")
}

// deleteFloatingIPsOf deletes the floating IPs of a port that belong to the shoot's Services and API servers.
func deleteFloatingIPsOf(ctx context.Context, f *flow, portID string) error {
	if portID == "" {
		return nil
	}
	found, err := client.List(ctx, floatingips.List(f.network, floatingips.ListOpts{PortID: portID}), floatingips.ExtractFloatingIPs)
	if err != nil {
		return err
	}
	return floatingIPKind.deleteAll(ctx, f, slices.DeleteFunc(found, func(ip floatingips.FloatingIP) bool {
		return !f.owner.OwnsFloatingIP(ip.Description) && ip.Description != f.owner.OfExposure().Description()
	}))
}

// ownedFloatingIPs lists the floating IPs of the shoot's API servers on the site, and those of the shoot's Services that lead to the site's
// nodes. An unassociated one of a Service may belong to another site in the same project: it is included only if the whole shoot is
// deleted.
func ownedFloatingIPs(ctx context.Context, f *flow) ([]floatingips.FloatingIP, error) {
	found, err := floatingIPsOfProject(ctx, f)
	if err != nil {
		return nil, err
	}
	routerIDs, err := routerKind.usedIDs(ctx, f)
	if err != nil {
		return nil, err
	}
	nodes := f.nodeRanges()
	return slices.DeleteFunc(found, func(ip floatingips.FloatingIP) bool {
		switch {
		case ip.Description == f.owner.OfExposure().Description():
			return false
		case !f.owner.OwnsFloatingIP(ip.Description):
			return true
		case ip.PortID == "":
			return f.site.Removed()
		default:
			return !slices.Contains(routerIDs, ip.RouterID) || !nodes.contain(ip.FixedIP)
		}
	}), nil
}

var loadBalancerKind = kind[loadbalancers.LoadBalancer]{
	name: "load balancer",
	own: func(ctx context.Context, f *flow) ([]loadbalancers.LoadBalancer, error) {
		lb, err := newLoadBalancing(ctx, f)
		if lb == nil || err != nil {
			return nil, err
		}
		return lb.list(ctx)
	},
	describe: func(lb *loadbalancers.LoadBalancer) object { return object{id: lb.ID, name: lb.Name} },
}

// floatingIPKind are the floating IPs that the shoot's Services and API servers left behind on the site.
var floatingIPKind = kind[floatingips.FloatingIP]{
	name:     "floating IP",
	own:      ownedFloatingIPs,
	describe: func(ip *floatingips.FloatingIP) object { return object{id: ip.ID, name: ip.FloatingIP} },
	remove:   networking(floatingips.Delete),
}
