// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package nodes connects nodes and Services with an OpenStack site. It uses cloud-provider-openstack as a library.
package nodes

import (
	"context"

	library "k8s.io/cloud-provider-openstack/pkg/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

type nodes struct {
	sessions *client.Sessions
}

// New returns the Nodes part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Nodes {
	return &nodes{sessions: sessions}
}

// Open implements platform.Nodes. It queries the required services before the library does, which terminates the process if one of those
// needed for load balancers does not respond.
func (n *nodes) Open(ctx context.Context, r platform.NodesRequest) (_ platform.NodeSite, err error) {
	defer platform.NameSite(r.Site.Name, &err)
	config := r.Site.OpenStack
	if config == nil {
		return platform.NodeSite{}, platform.NewError(platform.ClassConfiguration, "the site has no openstack block")
	}
	session, err := n.sessions.Get(ctx, r.Site.Name, config.Connection, r.Credentials)
	if err != nil {
		return platform.NodeSite{}, err
	}
	if err := session.CheckScope(config.Region, config.ProjectID); err != nil {
		return platform.NodeSite{}, err
	}
	compute, err := session.Compute(ctx)
	if err != nil {
		return platform.NodeSite{}, err
	}
	network, err := session.Network(ctx)
	if err != nil {
		return platform.NodeSite{}, err
	}
	cloud, err := newCloud(ctx, session, r.Client, config.LoadBalancer)
	if err != nil {
		return platform.NodeSite{}, err
	}
	instances, ok := cloud.InstancesV2()
	if !ok {
		return platform.NodeSite{}, platform.NewError(platform.ClassTransient, "the compute or the networking API does not answer")
	}
	opened := platform.NodeSite{Machines: &machines{
		owner:     owner.Owner{Shoot: r.Shoot, Site: r.Site.Name},
		zones:     config.Zones,
		compute:   compute,
		network:   network,
		instances: instances,
	}}
	if config.LoadBalancer != nil {
		opened.OpenLoadBalancers = func(ctx context.Context) (platform.LoadBalancers, error) {
			balancers, err := openLoadBalancers(ctx, session, cloud, config.LoadBalancer, owner.Owner{Shoot: r.Shoot, Site: r.Site.Name})
			return balancers, platform.InSite(r.Site.Name, err)
		}
	}
	return opened, nil
}

func openLoadBalancers(ctx context.Context, session *client.Session, cloud *library.OpenStack, config *v1alpha1.OpenStackLoadBalancer,
	o owner.Owner) (platform.LoadBalancers, error) {
	balancing, err := session.LoadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	if err := readVersion(ctx, balancing, config.Provider); err != nil {
		return nil, err
	}
	network, err := session.Network(ctx)
	if err != nil {
		return nil, err
	}
	balancers, ok := cloud.LoadBalancer()
	if !ok {
		return nil, platform.NewError(platform.ClassTransient, "the load balancing API does not answer")
	}
	return &loadBalancers{LoadBalancer: balancers, owner: o, config: config, balancing: balancing, network: network}, nil
}
