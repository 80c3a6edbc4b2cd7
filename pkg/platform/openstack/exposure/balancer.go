// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	statusActive  = "ACTIVE"
	statusError   = "ERROR"
	pendingPrefix = "PENDING_"
	// providerOVN supports one algorithm only.
	providerOVN = "ovn"

	// A node that does not answer gets no connections after monitorSeconds * monitorRetries.
	monitorSeconds, monitorTimeout, monitorRetries = 5, 4, 3
)

// wanted is the desired state of the load balancer.
type wanted struct {
	subnetID, provider string
	port               int
	members            []netip.AddrPort

	// balancer is the load balancer that was observed.
	balancer *loadbalancers.LoadBalancer
}

func wantedOf(request platform.ExposureRequest) wanted {
	var settings v1alpha1.OpenStackLoadBalancerConfig
	if chosen := request.Settings.LoadBalancer; chosen != nil && chosen.OpenStack != nil {
		settings = *chosen.OpenStack
	}
	return wanted{
		subnetID: request.Status.OpenStack.SubnetID,
		provider: request.Site.Profile.OpenStack.LoadBalancerProvider(settings),
		port:     int(request.Port),
		members: lists.Map(request.Endpoints, func(endpoint netip.Addr) netip.AddrPort {
			return netip.AddrPortFrom(endpoint, uint16(request.Port)) // #nosec G115 -- the API server limits ports
		}),
	}
}

func (c *call) name() string { return c.owner.Shoot + "-exposure" }

// find returns the load balancers with our mark. There is more than one only if a response was lost and lists were late.
func (c *call) find(ctx context.Context) ([]loadbalancers.LoadBalancer, error) {
	found, err := client.List(ctx, loadbalancers.List(c.balancing,
		loadbalancers.ListOpts{ProjectID: c.project, Description: c.owner.Description()}), loadbalancers.ExtractLoadBalancers)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(lb loadbalancers.LoadBalancer) bool { return lb.Description != c.owner.Description() })
	slices.SortFunc(found, func(a, b loadbalancers.LoadBalancer) int { return strings.Compare(a.ID, b.ID) })
	return found, nil
}

// step makes the first change that is missing, and returns nil if none is.
func (c *call) step(ctx context.Context, w *wanted) error {
	found, err := c.find(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := loadbalancers.Create(ctx, c.balancing, loadbalancers.CreateOpts{Name: c.name(), Description: c.owner.Description(),
			VipSubnetID: w.subnetID, Provider: w.provider}).Extract()
		return c.changed(err)
	}
	w.balancer = &found[0]
	switch status := w.balancer.ProvisioningStatus; {
	case status == statusActive:
	case status != statusError:
		return platform.NewProgress("load balancer %q is in status %s", c.name(), platform.Printable(status))
	case len(w.balancer.Listeners) == 0:
		// It was never reached.
		if err := c.deleteBalancer(ctx, w.balancer.ID); err != nil {
			return err
		}
		return platform.NewError(platform.ClassTransient, "load balancer %q was in status ERROR and is replaced", c.name())
	default:
		// It may still forward connections.
		return platform.NewError(platform.ClassTransient,
			"load balancer %q is in status ERROR: an administrator can fail it over; if it is deleted, another one gets its address", c.name())
	}
	pool, err := c.ensurePool(ctx, w)
	if err != nil {
		return err
	}
	if err := c.ensureMembers(ctx, w, pool); err != nil {
		return err
	}
	return c.ensureListener(ctx, w, pool)
}

// ensurePool returns the ID of the pool, which has a health monitor.
func (c *call) ensurePool(ctx context.Context, w *wanted) (string, error) {
	found, err := client.List(ctx, pools.List(c.balancing, pools.ListOpts{LoadbalancerID: w.balancer.ID}), pools.ExtractPools)
	if err != nil {
		return "", err
	}
	pool := lists.Find(found, func(p *pools.Pool) bool { return p.Description == c.owner.Description() })
	switch {
	case pool == nil:
		method := pools.LBMethodRoundRobin
		if w.provider == providerOVN {
			method = pools.LBMethodSourceIpPort
		}
		_, err := pools.Create(ctx, c.balancing, pools.CreateOpts{LoadbalancerID: w.balancer.ID, Name: c.name(),
			Description: c.owner.Description(), Protocol: pools.ProtocolTCP, LBMethod: method}).Extract()
		return "", c.changed(err)
	case pool.ProvisioningStatus == statusError:
		return "", c.changed(client.IgnoreNotFound(pools.Delete(ctx, c.balancing, pool.ID).ExtractErr()))
	case pool.MonitorID == "":
		_, err := monitors.Create(ctx, c.balancing, monitors.CreateOpts{PoolID: pool.ID, Name: c.name(), Type: monitors.TypeTCP,
			Delay: monitorSeconds, Timeout: monitorTimeout, MaxRetries: monitorRetries}).Extract()
		return "", c.changed(err)
	default:
		return pool.ID, nil
	}
}

// ensureMembers makes the endpoints the members of the pool, in one request. Members that stay are not interrupted.
func (c *call) ensureMembers(ctx context.Context, w *wanted, poolID string) error {
	found, err := client.List(ctx, pools.ListMembers(c.balancing, poolID, nil), pools.ExtractMembers)
	if err != nil {
		return err
	}
	existing := lists.Map(found, func(m pools.Member) netip.AddrPort {
		address, err := netip.ParseAddr(m.Address)
		if err != nil || m.ProvisioningStatus == statusError {
			return netip.AddrPort{}
		}
		return netip.AddrPortFrom(address, uint16(m.ProtocolPort)) // #nosec G115 -- a wrong port is replaced
	})
	slices.SortFunc(existing, netip.AddrPort.Compare)
	if slices.Equal(existing, w.members) {
		return nil
	}
	options := lists.Map(w.members, func(m netip.AddrPort) pools.BatchUpdateMemberOpts {
		return pools.BatchUpdateMemberOpts{Address: m.Addr().String(), ProtocolPort: int(m.Port()), SubnetID: &w.subnetID}
	})
	return c.changed(pools.BatchUpdateMembers(ctx, c.balancing, poolID, options).ExtractErr())
}

// ensureListener creates the listener. Other listeners of the load balancer stay.
func (c *call) ensureListener(ctx context.Context, w *wanted, poolID string) error {
	found, err := client.List(ctx, listeners.List(c.balancing, listeners.ListOpts{LoadbalancerID: w.balancer.ID}), listeners.ExtractListeners)
	if err != nil {
		return err
	}
	listener := lists.Find(found, func(l *listeners.Listener) bool { return l.Description == c.owner.Description() })
	switch {
	case listener == nil:
		_, err := listeners.Create(ctx, c.balancing, listeners.CreateOpts{LoadbalancerID: w.balancer.ID, Name: c.name(),
			Description: c.owner.Description(), Protocol: listeners.ProtocolTCP, ProtocolPort: w.port, DefaultPoolID: poolID}).Extract()
		return c.changed(err)
	case listener.ProtocolPort != w.port, listener.DefaultPoolID != poolID, listener.ProvisioningStatus == statusError:
		return c.changed(client.IgnoreNotFound(listeners.Delete(ctx, c.balancing, listener.ID).ExtractErr()))
	default:
		return nil
	}
}

// changed returns the error of a request that changes the load balancer. It is of progress if the change was accepted, or is refused
// because the load balancer is changing.
func (c *call) changed(err error) error {
	switch {
	case err == nil:
		return platform.NewProgress("load balancer %q is changing", c.name())
	case gophercloud.ResponseCodeIs(err, http.StatusConflict):
		return platform.NewProgress("load balancer %q is not changed yet: %w", c.name(), client.Classify(err))
	default:
		return client.Classify(err)
	}
}

// deleteBalancers deletes the load balancers, and returns nil when they are gone.
func (c *call) deleteBalancers(ctx context.Context) error {
	if c.balancing == nil {
		return nil
	}
	found, err := c.find(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	for i := range found {
		if strings.HasPrefix(found[i].ProvisioningStatus, pendingPrefix) {
			continue
		}
		if err := c.deleteBalancer(ctx, found[i].ID); err != nil && !platform.IsProgress(err) {
			return err
		}
	}
	return platform.NewProgress("load balancer %q is being deleted", c.name())
}

// deleteBalancer deletes a load balancer with all that belongs to it.
func (c *call) deleteBalancer(ctx context.Context, id string) error {
	err := loadbalancers.Delete(ctx, c.balancing, id, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return c.changed(err)
	}
	return client.IgnoreNotFound(err)
}
