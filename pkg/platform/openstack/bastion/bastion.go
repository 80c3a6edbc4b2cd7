// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package bastion creates and deletes the bastions of an OpenStack site. A bastion is a server without a key pair, with a security group
// and a floating IP of its own.
//
// Nothing is recorded: the objects are found by their names and marks. The security group is created first and deleted last, so that the
// server never runs without it.
package bastion

import (
	"context"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/floatingip"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

const (
	statusActive = "ACTIVE"
	statusBuild  = "BUILD"
	statusError  = "ERROR"
)

type bastions struct {
	sessions *client.Sessions
	classes  platform.MachineClasses
	machines platform.Machines
}

// New returns the Bastions part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Bastions {
	return &bastions{sessions: sessions, classes: machineclasses.New(sessions), machines: machines.New(sessions)}
}

var _ platform.BastionGate = &bastions{}

// IsPublic implements platform.Bastions. A given router has an external network, too.
func (b *bastions) IsPublic(s *site.Site) bool {
	return s.Config != nil && s.Config.OpenStack != nil && (s.Config.OpenStack.FloatingPoolName != "" || s.Config.OpenStack.Router != nil)
}

// Ensure implements platform.Bastions.
func (b *bastions) Ensure(ctx context.Context, request platform.BastionRequest) (_ platform.Bastion, err error) {
	s, status := request.Site, request.Status
	defer platform.NameSite(s.Name, &err)
	if status == nil || status.OpenStack == nil {
		return platform.Bastion{}, platform.NewError(platform.ClassTransient, "the infrastructure of the site is not ready")
	}
	c, err := b.open(ctx, s, request.Name)
	if err != nil {
		return platform.Bastion{}, err
	}
	groupID, err := c.ensureSecurityGroup(ctx, wantedRules(request.Ingress, s.Network))
	if err != nil {
		return platform.Bastion{}, err
	}
	server, err := c.findServer(ctx)
	if err != nil {
		return platform.Bastion{}, err
	}
	if server == nil {
		if server, err = b.create(ctx, c, request, groupID); err != nil {
			return platform.Bastion{}, err
		}
	}
	if err := b.check(ctx, c, server); err != nil {
		return platform.Bastion{}, err
	}
	return c.address(ctx, status.OpenStack, server.ID)
}

// create creates the port and the server, or completes what an interrupted call left behind.
func (b *bastions) create(ctx context.Context, c *call, request platform.BastionRequest, groupID string) (*servers.Server, error) {
	machine, err := request.Machine()
	if err != nil {
		return nil, err
	}
	spec := &v1alpha1.MachineProviderSpec{Site: request.Site.Name, Shoot: request.Site.Shoot}
	if err := b.classes.Resolve(ctx, machine, spec); err != nil {
		return nil, err
	}
	data, err := userdata.Wrap(userdata.FormatOf(machine.Image), request.UserData)
	if err != nil {
		return nil, err
	}
	// It is not a node: it has no key pair, sends for no pods, and is not in the security group of the nodes.
	spec.OpenStack.SecurityGroupIDs = []string{groupID}
	spec.OpenStack.KeyName, spec.OpenStack.PodCIDRs, spec.OpenStack.Metadata = "", nil, nil
	server := c.request(spec)
	server.UserData = data
	created, err := b.machines.Create(ctx, server)
	if err != nil {
		return nil, err
	}
	return c.readServer(ctx, serverID(created.ProviderID))
}

// check returns nil if the server runs. One that never will is deleted, so that the next call creates another one.
func (b *bastions) check(ctx context.Context, c *call, server *servers.Server) error {
	if server == nil {
		return platform.NewProgress("server %q is being created", c.name)
	}
	switch server.Status {
	case statusActive:
		return nil
	case statusBuild:
		return platform.NewProgress("server %q (%s) is being created", c.name, server.ID)
	case statusError:
		machine := c.request(c.spec())
		machine.ProviderID = providerIDPrefix + server.ID
		_, err := b.machines.Get(ctx, machine)
		if err == nil {
			return platform.NewError(platform.ClassTransient, "server %q (%s) was in status ERROR", c.name, server.ID)
		}
		if client.IsNotFound(err) {
			return platform.NewProgress("server %q (%s) is being replaced", c.name, server.ID)
		}
		if deleteErr := b.machines.Delete(ctx, machine); deleteErr != nil && !platform.IsProgress(deleteErr) {
			return deleteErr
		}
		return err
	default:
		return platform.NewError(platform.ClassConflict, "server %q (%s) is in status %s instead of ACTIVE; start it, or delete the bastion",
			c.name, server.ID, platform.Printable(server.Status))
	}
}

// Delete implements platform.Bastions.
func (b *bastions) Delete(ctx context.Context, s *site.Site, name string) (err error) {
	defer platform.NameSite(s.Name, &err)
	if s.State == nil || s.State.OpenStack == nil {
		return nil // there never was a network for it
	}
	c, err := b.open(ctx, s, name)
	if err != nil {
		return err
	}
	if err := b.machines.Delete(ctx, c.request(c.spec())); err != nil {
		return err
	}
	if err := floatingip.DeleteUnused(ctx, c.network, c.owner.MachineDescription(c.name)); err != nil {
		return err
	}
	return c.deleteSecurityGroups(ctx)
}

// Admit implements platform.BastionGate. A given security group is not changed.
func (b *bastions) Admit(ctx context.Context, s *site.Site, name string, from []netip.Addr) (err error) {
	defer platform.NameSite(s.Name, &err)
	if s.State == nil || s.State.OpenStack == nil || s.State.OpenStack.SecurityGroup == nil {
		return nil // there are no nodes yet
	}
	group := s.State.OpenStack.SecurityGroup
	if !group.Managed {
		if len(from) == 0 {
			return nil
		}
		return platform.NewError(platform.ClassConfiguration,
			"openstack.securityGroup.id: %q is given and is not changed; let it allow SSH from %s while the bastion is used", group.ID, from)
	}
	c, err := b.open(ctx, s, name)
	if err != nil {
		return err
	}
	return c.ensureNodeRules(ctx, group.ID, from)
}

// findServer returns the server of the bastion's port, and nil if there is none.
func (c *call) findServer(ctx context.Context) (*servers.Server, error) {
	found, err := c.ports(ctx)
	if err != nil {
		return nil, err
	}
	for _, port := range found {
		if port.DeviceID == "" {
			continue
		}
		if server, err := c.readServer(ctx, port.DeviceID); err != nil || server != nil {
			return server, err
		}
	}
	return nil, nil
}

// readServer returns the server with the ID if it is that of the bastion and exists, and otherwise nil.
func (c *call) readServer(ctx context.Context, id string) (*servers.Server, error) {
	server, err := client.Extracted(servers.Get(ctx, c.compute, id).Extract())
	switch {
	case client.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !c.owner.OwnsServer(server.Metadata), server.Status == "DELETED", server.Status == "SOFT_DELETED":
		return nil, nil
	default:
		return server, nil
	}
}

func (c *call) ports(ctx context.Context) ([]ports.Port, error) {
	return client.List(ctx, ports.List(c.network, ports.ListOpts{Name: c.name, Description: c.owner.Description()}), ports.ExtractPorts)
}
