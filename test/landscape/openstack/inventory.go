// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

const (
	kindServer        = "server"
	kindKeyPair       = "key pair"
	kindServerGroup   = "server group"
	kindNetwork       = "network"
	kindSubnet        = "subnet"
	kindRouter        = "router"
	kindSecurityGroup = "security group"
	kindRule          = "security group rule"
	kindFloatingIP    = "floating IP"
	kindPort          = "port"
	kindVolume        = "volume"
	kindShareNetwork  = "share network"
	kindLoadBalancer  = "load balancer"
)

// Object is an object in a project.
type Object struct {
	// Project is the name of the project.
	Project string `json:"project"`
	// Kind is server, port, ...
	Kind string `json:"kind"`
	// ID is the ID of the object.
	ID string `json:"id"`
	// Name is the name of the object; it may be empty.
	Name string `json:"name"`
	// Marks are its tags, its metadata as key=value and its description, as far as its kind has them.
	Marks []string `json:"-"`

	parent []string
}

// String describes the object in one line.
func (o Object) String() string {
	return fmt.Sprintf("%s: %s %s (%s)", o.Project, o.Kind, o.Name, o.ID)
}

// Objects returns everything in the project that belongs to the shoot: objects whose name begins with the shoot's name, that
// have a mark with it, or that are part of such an object.
func (c *Client) Objects(ctx context.Context, shoot string) ([]Object, error) {
	var all []Object
	for _, list := range []func(context.Context) ([]Object, error){
		c.servers, c.keyPairs, c.serverGroups, c.networks, c.subnets, c.routers, c.securityGroups, c.rules, c.floatingIPs, c.ports, c.volumes,
		c.shareNetworks, c.loadBalancers,
	} {
		objects, err := list(ctx)
		if err != nil {
			return nil, fmt.Errorf("list objects of project %s: %w", c.project, err)
		}
		all = append(all, objects...)
	}
	return belonging(all, shoot), nil
}

// belonging filters the objects of the shoot. Objects come after those that they are part of.
func belonging(all []Object, shoot string) []Object {
	var (
		result []Object
		ours   = map[string]bool{}
	)
	for _, o := range all {
		own := strings.HasPrefix(o.Name, shoot) ||
			slices.ContainsFunc(o.Marks, func(mark string) bool { return strings.Contains(mark, shoot) }) ||
			slices.ContainsFunc(o.parent, func(id string) bool { return ours[id] })
		if own {
			ours[o.ID] = true
			result = append(result, o)
		}
	}
	return result
}

// list reads all pages and turns each item into an object.
func list[T any](ctx context.Context, c *Client, pager pagination.Pager, extract func(pagination.Page) ([]T, error),
	object func(T) Object) ([]Object, error) {
	pages, err := pager.AllPages(ctx)
	if err != nil {
		return nil, err
	}
	items, err := extract(pages)
	if err != nil {
		return nil, err
	}
	result := make([]Object, 0, len(items))
	for _, item := range items {
		o := object(item)
		o.Project = c.project
		result = append(result, o)
	}
	return result, nil
}

func pairs(metadata map[string]string) []string {
	var result []string
	for key, value := range metadata {
		result = append(result, key+"="+value)
	}
	slices.Sort(result)
	return result
}

func (c *Client) servers(ctx context.Context) ([]Object, error) {
	all, err := c.Servers(ctx, "")
	var result []Object
	for _, s := range all {
		result = append(result, Object{Project: c.project, Kind: kindServer, ID: s.ID, Name: s.Name, Marks: pairs(s.Metadata)})
	}
	return result, err
}

func (c *Client) keyPairs(ctx context.Context) ([]Object, error) {
	return list(ctx, c, keypairs.List(c.compute, nil), keypairs.ExtractKeyPairs, func(k keypairs.KeyPair) Object {
		return Object{Kind: kindKeyPair, ID: k.Fingerprint, Name: k.Name}
	})
}

func (c *Client) serverGroups(ctx context.Context) ([]Object, error) {
	return list(ctx, c, servergroups.List(c.compute, nil), servergroups.ExtractServerGroups, func(g servergroups.ServerGroup) Object {
		return Object{Kind: kindServerGroup, ID: g.ID, Name: g.Name}
	})
}

func (c *Client) networks(ctx context.Context) ([]Object, error) {
	return list(ctx, c, networks.List(c.network, nil), networks.ExtractNetworks, func(n networks.Network) Object {
		return Object{Kind: kindNetwork, ID: n.ID, Name: n.Name, Marks: append(n.Tags, n.Description)}
	})
}

func (c *Client) subnets(ctx context.Context) ([]Object, error) {
	return list(ctx, c, subnets.List(c.network, nil), subnets.ExtractSubnets, func(s subnets.Subnet) Object {
		return Object{Kind: kindSubnet, ID: s.ID, Name: s.Name, Marks: append(s.Tags, s.Description), parent: []string{s.NetworkID}}
	})
}

func (c *Client) routers(ctx context.Context) ([]Object, error) {
	return list(ctx, c, routers.List(c.network, nil), routers.ExtractRouters, func(r routers.Router) Object {
		return Object{Kind: kindRouter, ID: r.ID, Name: r.Name, Marks: append(r.Tags, r.Description)}
	})
}

func (c *Client) securityGroups(ctx context.Context) ([]Object, error) {
	return list(ctx, c, groups.List(c.network, groups.ListOpts{}), groups.ExtractGroups, func(g groups.SecGroup) Object {
		return Object{Kind: kindSecurityGroup, ID: g.ID, Name: g.Name, Marks: append(g.Tags, g.Description)}
	})
}

func (c *Client) rules(ctx context.Context) ([]Object, error) {
	return list(ctx, c, rules.List(c.network, rules.ListOpts{}), rules.ExtractRules, func(r rules.SecGroupRule) Object {
		name := fmt.Sprintf("%s %s %s %d-%d %s", r.Direction, r.EtherType, r.Protocol, r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix)
		return Object{Kind: kindRule, ID: r.ID, Name: name, parent: []string{r.SecGroupID}}
	})
}

func (c *Client) floatingIPs(ctx context.Context) ([]Object, error) {
	return list(ctx, c, floatingips.List(c.network, nil), floatingips.ExtractFloatingIPs, func(f floatingips.FloatingIP) Object {
		return Object{Kind: kindFloatingIP, ID: f.ID, Name: f.FloatingIP, Marks: append(f.Tags, f.Description), parent: []string{f.RouterID}}
	})
}

func (c *Client) ports(ctx context.Context) ([]Object, error) {
	return list(ctx, c, ports.List(c.network, nil), ports.ExtractPorts, func(p ports.Port) Object {
		return Object{Kind: kindPort, ID: p.ID, Name: p.Name, Marks: append(p.Tags, p.Description), parent: []string{p.NetworkID, p.DeviceID}}
	})
}

func (c *Client) volumes(ctx context.Context) ([]Object, error) {
	return list(ctx, c, volumes.List(c.volume, nil), volumes.ExtractVolumes, func(v volumes.Volume) Object {
		o := Object{Kind: kindVolume, ID: v.ID, Name: v.Name, Marks: pairs(v.Metadata)}
		for _, attachment := range v.Attachments {
			o.parent = append(o.parent, attachment.ServerID)
		}
		return o
	})
}

func (c *Client) shareNetworks(ctx context.Context) ([]Object, error) {
	return list(ctx, c, sharenetworks.ListDetail(c.share, nil), sharenetworks.ExtractShareNetworks, func(n sharenetworks.ShareNetwork) Object {
		return Object{Kind: kindShareNetwork, ID: n.ID, Name: n.Name, Marks: []string{n.Description}, parent: []string{n.NeutronNetID}}
	})
}

func (c *Client) loadBalancers(ctx context.Context) ([]Object, error) {
	return list(ctx, c, loadbalancers.List(c.balancing, nil), loadbalancers.ExtractLoadBalancers, func(lb loadbalancers.LoadBalancer) Object {
		// A Service's load balancer has the name of the shoot in the middle of its own.
		return Object{Kind: kindLoadBalancer, ID: lb.ID, Name: lb.Name, Marks: []string{lb.Name}, parent: []string{lb.VipSubnetID}}
	})
}
