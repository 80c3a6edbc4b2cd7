// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// cloud is a site behind a proxy, and the product's code that works on it with one warm session.
type cloud struct {
	recorder

	counter *counter

	infrastructure platform.Infrastructure
	machineClasses platform.MachineClasses
	machines       platform.Machines

	credentials openstack.Credentials
	shoot       string
	site        *site.Site
	status      *v1alpha1.SiteStatus
}

// newCloud puts a proxy in front of the services.
func newCloud(shoot string, credentials openstack.Credentials, services ...countproxy.Service) (*cloud, error) {
	sessions := client.NewSessions()
	c := &cloud{
		infrastructure: infrastructure.New(sessions),
		machineClasses: machineclasses.New(sessions),
		machines:       machines.New(sessions),
		credentials:    credentials,
		shoot:          shoot,
	}
	var err error
	if c.counter, err = newCounter(); err != nil {
		return nil, err
	}
	if c.proxy, err = countproxy.New(services...); err != nil {
		return nil, err
	}
	c.site, err = newSite(shoot, c.proxy.Rewrite(credentials.AuthURL), credentials)
	return c, err
}

func (c *cloud) close() error {
	return c.proxy.Close()
}

// prepare makes the site's infrastructure and leaves a warm session behind.
func (c *cloud) prepare(ctx context.Context) error {
	if c.status != nil {
		return nil
	}
	for range 2 {
		if err := c.reconcile(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *cloud) reconcile(ctx context.Context) error {
	status, err := c.infrastructure.Reconcile(ctx, c.site, c.persist)
	if err == nil {
		c.status = status
	}
	return err
}

func (c *cloud) persist(_ context.Context, state *v1alpha1.SiteState) error {
	c.site.State = state.DeepCopy()
	return nil
}

// observe returns the requests that do makes. It fails if the product's own metric counted other requests than the proxy,
// because then some went past it.
func (c *cloud) observe(ctx context.Context, run string, do func(context.Context) error) ([]Record, error) {
	before, err := c.counter.requests()
	if err != nil {
		return nil, err
	}
	records, err := c.record(ctx, run, do)
	if err != nil {
		return nil, err
	}
	after, err := c.counter.requests()
	if err != nil {
		return nil, err
	}
	if after-before != len(records) {
		return nil, fmt.Errorf("the metric counted %d requests, the proxy %d", after-before, len(records))
	}
	return records, nil
}

// machineSpec is the provider spec of new machines. change, if it is not nil, changes what is asked for.
func (c *cloud) machineSpec(ctx context.Context, change func(*platform.MachineClassRequest)) (*v1alpha1.MachineProviderSpec, error) {
	spec := &v1alpha1.MachineProviderSpec{Site: siteName, Shoot: c.shoot}
	request := platform.MachineClassRequest{
		Site:        c.site,
		Status:      c.status,
		Zone:        &c.site.Profile.Zones[0],
		MachineType: &v1alpha1.SiteMachineType{Name: siteName, OpenStack: &v1alpha1.OpenStackMachineType{Flavor: flavorName}},
		Image:       &v1alpha1.SiteMachineImage{Name: siteName, OpenStack: &v1alpha1.OpenStackImage{ImageName: imageName}},
		PodCIDRs:    []string{"100.96.0.0/11", "fd00:10::/56"},
		Pool:        poolName,
	}
	if change != nil {
		change(&request)
	}
	return spec, c.machineClasses.Resolve(ctx, request, spec)
}
