// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package exposure creates and deletes the Octavia load balancer through which the API servers of a self-hosted shoot are reached.
//
// Nothing is recorded: the objects are found by their marks. Octavia refuses changes of a load balancer that is changing, so each change is
// one step, after which the load balancer is awaited and read again. The listener comes last: nothing is sent to a pool without members.
package exposure

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/floatingip"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/securityrule"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// waitTimeout limits how long a call waits for the load balancer. The next call continues.
	waitTimeout = 2 * time.Minute
	// firstPoll and lastPoll are the minimum and maximum interval between two looks at the load balancer.
	firstPoll = 500 * time.Millisecond
	lastPoll  = 5 * time.Second
)

type exposures struct {
	sessions *client.Sessions
}

// New returns the Exposures part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Exposures {
	return &exposures{sessions: sessions}
}

// call is one operation on the load balancer of one site.
type call struct {
	site *site.Site
	// owner has the marks of the load balancer.
	owner   owner.Owner
	project string
	network *gophercloud.ServiceClient
	// balancing is nil if the site has no load balancing service.
	balancing *gophercloud.ServiceClient
}

// open prefers the connection of the CloudProfile, which may have a new address or certificate authority, over that of the state. It
// rejects credentials of another project and a connection to another region than those of the shoot's objects.
func (e *exposures) open(ctx context.Context, s *site.Site) (*call, error) {
	state := s.State.OpenStack
	connection := state.Connection
	if s.Profile != nil && s.Profile.OpenStack != nil {
		connection = client.ConnectionOf(s.Profile)
	}
	session, err := e.sessions.Get(ctx, s.Name, connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	if err := session.CheckScope(state.Connection.Region, state.ProjectID); err != nil {
		return nil, err
	}
	c := &call{site: s, owner: owner.Owner{Shoot: s.Shoot, Site: s.Name}.OfExposure()}
	var projectErr, networkErr, balancingErr error
	c.project, projectErr = session.ProjectID()
	c.network, networkErr = session.Network(ctx)
	if c.balancing, balancingErr = session.LoadBalancer(ctx); errors.Is(balancingErr, client.ErrNoService) {
		balancingErr = nil
	}
	return c, errors.Join(projectErr, networkErr, balancingErr)
}

// Ensure implements platform.Exposures.
func (e *exposures) Ensure(ctx context.Context, request platform.ExposureRequest) (_ netip.Addr, err error) {
	s := request.Site
	defer platform.NameSite(s.Name, &err)
	if request.Status == nil || request.Status.OpenStack == nil || s.State == nil || s.State.OpenStack == nil {
		return netip.Addr{}, platform.NewError(platform.ClassTransient, "the infrastructure of the site is not ready")
	}
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return netip.Addr{}, client.ErrNoProfile
	}
	c, err := e.open(ctx, s)
	if err != nil {
		return netip.Addr{}, err
	}
	if c.balancing == nil {
		return netip.Addr{}, platform.NewError(platform.ClassConfiguration,
			"the site has no load balancing service: set controlPlane.exposure.dns of the pool instead of extension")
	}
	var everywhere []netip.Prefix
	for _, subnet := range s.Network.Subnets {
		everywhere = append(everywhere, netip.PrefixFrom(subnet.Addr(), 0))
	}
	if err := c.admit(ctx, request.Port, everywhere); err != nil {
		return netip.Addr{}, err
	}
	w := wantedOf(request)
	if err := await(ctx, func() error { return c.step(ctx, &w) }); err != nil {
		return netip.Addr{}, err
	}
	return c.address(ctx, &w, request.Status.OpenStack)
}

// Delete implements platform.Exposures.
func (e *exposures) Delete(ctx context.Context, s *site.Site) (err error) {
	defer platform.NameSite(s.Name, &err)
	if s.State == nil || s.State.OpenStack == nil {
		return nil // there never was a network for it
	}
	c, err := e.open(ctx, s)
	if err != nil {
		return err
	}
	if err := c.admit(ctx, 0, nil); err != nil {
		return err
	}
	if err := await(ctx, func() error { return c.deleteBalancers(ctx) }); err != nil {
		return err
	}
	return floatingip.DeleteUnused(ctx, c.network, c.owner.Description())
}

// await repeats the step until it returns nil or an error that is not of progress.
func await(ctx context.Context, step func() error) error {
	deadline := time.After(waitTimeout)
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		err := step()
		if !platform.IsProgress(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-deadline:
			return err
		case <-time.After(poll):
		}
	}
}

// admit makes the rules of the nodes' security group for the load balancer those that allow the port from the ranges. It depends on the
// provider of the load balancer which address nodes see: one of the subnet, or that of the client. A given security group is not changed.
func (c *call) admit(ctx context.Context, port int32, from []netip.Prefix) error {
	group := c.site.State.OpenStack.SecurityGroup
	if group == nil || !group.Managed {
		return nil
	}
	service := securityrule.Service{Protocol: "tcp", Min: int(port), Max: int(port)}
	return securityrule.Ensure(ctx, c.network, group.ID, c.owner.ExposureRule(), lists.Map(from, service.From))
}

// address returns the floating IP of the load balancer, or its own address if the site has no external network.
func (c *call) address(ctx context.Context, w *wanted, status *v1alpha1.OpenStackStatus) (netip.Addr, error) {
	text := w.balancer.VipAddress
	if status.FloatingNetworkID != "" {
		floating, err := floatingip.Ensure(ctx, c.network, floatingip.Wanted{Description: c.owner.Description(),
			NetworkID: status.FloatingNetworkID, SubnetID: status.FloatingSubnetID, PortID: w.balancer.VipPortID})
		if err != nil {
			return netip.Addr{}, err
		}
		text = floating.FloatingIP
	}
	return floatingip.Address(text)
}
