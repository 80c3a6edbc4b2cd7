// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/floatingip"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/securityrule"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const providerIDPrefix = "openstack:///"

func serverID(providerID string) string { return strings.TrimPrefix(providerID, providerIDPrefix) }

// call is one operation on one bastion on one site.
type call struct {
	name       string
	site       *site.Site
	connection v1alpha1.OpenStackConnection
	// owner has the marks of bastions.
	owner   owner.Owner
	network *gophercloud.ServiceClient
	compute *gophercloud.ServiceClient
}

// open prefers the connection of the CloudProfile, which may have a new address or certificate authority, over that of the state. It
// rejects credentials of another project and a connection to another region than those of the shoot's objects.
func (b *bastions) open(ctx context.Context, s *site.Site, name string) (*call, error) {
	state := v1alpha1.OpenStackState{}
	if s.State != nil && s.State.OpenStack != nil {
		state = *s.State.OpenStack
	}
	c := &call{name: name, site: s, owner: owner.Owner{Shoot: s.Shoot, Site: s.Name}.OfBastions(), connection: state.Connection}
	if s.Profile != nil && s.Profile.OpenStack != nil {
		c.connection = client.ConnectionOf(s.Profile)
	}
	session, err := b.sessions.Get(ctx, s.Name, c.connection, s.Credentials)
	if err != nil {
		return nil, err
	}
	if err := session.CheckScope(state.Connection.Region, state.ProjectID); err != nil {
		return nil, err
	}
	var networkErr, computeErr error
	c.network, networkErr = session.Network(ctx)
	c.compute, computeErr = session.Compute(ctx)
	return c, errors.Join(networkErr, computeErr)
}

// spec returns what suffices to find the server.
func (c *call) spec() *v1alpha1.MachineProviderSpec {
	return &v1alpha1.MachineProviderSpec{Site: c.site.Name, Shoot: c.site.Shoot, OpenStack: &v1alpha1.OpenStackMachineSpec{
		Connection: c.connection,
	}}
}

func (c *call) request(spec *v1alpha1.MachineProviderSpec) platform.MachineRequest {
	return platform.MachineRequest{Name: c.name, Spec: spec, Credentials: c.site.Credentials, Bastion: true}
}

// Services of and for a bastion.
var (
	ssh      = securityrule.Service{Protocol: "tcp", Min: 22, Max: 22}
	metadata = securityrule.Service{Protocol: "tcp", Min: 80, Max: 80}
	// names and time are services that the operating system needs.
	names = []securityrule.Service{{Protocol: "udp", Min: 53, Max: 53}, {Protocol: "tcp", Min: 53, Max: 53},
		{Protocol: "udp", Min: 123, Max: 123}}
)

// metadataAddress is where a server reads its user data.
var metadataAddress = netip.MustParsePrefix("169.254.169.254/32")

// wantedRules are the rules of a bastion's security group: SSH from the ranges, and to the nodes of all sites.
func wantedRules(ingress []netip.Prefix, network site.Network) []securityrule.Rule {
	var result []securityrule.Rule
	for _, cidr := range ingress {
		result = append(result, ssh.From(cidr))
	}
	for _, nodes := range slices.Concat(network.Nodes, network.Foreign) {
		result = append(result, ssh.To(nodes))
	}
	for _, subnet := range network.Subnets {
		everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if subnet.Addr().Is6() {
			everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		for _, service := range names {
			result = append(result, service.To(everywhere))
		}
	}
	return append(result, metadata.To(metadataAddress))
}

func (c *call) securityGroups(ctx context.Context) ([]groups.SecGroup, error) {
	return client.List(ctx, groups.List(c.network, groups.ListOpts{Name: c.name, Description: c.owner.Description()}), groups.ExtractGroups)
}

// ensureSecurityGroup returns the ID of the bastion's security group, which has exactly the rules.
func (c *call) ensureSecurityGroup(ctx context.Context, wanted []securityrule.Rule) (string, error) {
	found, err := c.securityGroups(ctx)
	if err != nil {
		return "", err
	}
	var group *groups.SecGroup
	if len(found) > 0 {
		// A creation whose response was lost may have left a second one. The order of the API is not stable.
		group = &slices.SortedFunc(slices.Values(found), func(a, b groups.SecGroup) int { return strings.Compare(a.ID, b.ID) })[0]
	} else if group, err = client.Extracted(groups.Create(ctx, c.network,
		groups.CreateOpts{Name: c.name, Description: c.owner.Description()}).Extract()); err != nil {
		return "", err
	}
	missing, unwanted := securityrule.Difference(group.Rules, wanted)
	// What is no longer allowed ends first.
	if err := securityrule.Delete(ctx, c.network, unwanted); err != nil {
		return "", err
	}
	return group.ID, securityrule.Create(ctx, c.network, group.ID, "", missing)
}

func (c *call) deleteSecurityGroups(ctx context.Context) error {
	found, err := c.securityGroups(ctx)
	if err != nil {
		return err
	}
	for i := range found {
		if err := client.IgnoreNotFound(groups.Delete(ctx, c.network, found[i].ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// address returns the addresses of the bastion. It creates the floating IP if the site has an external network.
func (c *call) address(ctx context.Context, status *v1alpha1.OpenStackStatus, serverID string) (platform.Bastion, error) {
	found, err := c.ports(ctx)
	if err != nil {
		return platform.Bastion{}, err
	}
	port := lists.Find(found, func(p *ports.Port) bool { return p.DeviceID == serverID })
	if port == nil {
		return platform.Bastion{}, platform.NewError(platform.ClassTransient, "server %q (%s) has no port", c.name, serverID)
	}
	var result platform.Bastion
	for _, fixed := range port.FixedIPs {
		if address, err := netip.ParseAddr(fixed.IPAddress); err == nil {
			result.NodeAddresses = append(result.NodeAddresses, address)
		}
	}
	if len(result.NodeAddresses) == 0 {
		return platform.Bastion{}, platform.NewError(platform.ClassTransient, "port %s has no address", port.ID)
	}
	if status.FloatingNetworkID == "" {
		result.Address = result.NodeAddresses[0]
		return result, nil
	}
	floating, err := floatingip.Ensure(ctx, c.network, floatingip.Wanted{Description: c.owner.MachineDescription(c.name),
		NetworkID: status.FloatingNetworkID, SubnetID: status.FloatingSubnetID, PortID: port.ID})
	if err != nil {
		return platform.Bastion{}, err
	}
	result.Address, err = floatingip.Address(floating.FloatingIP)
	return result, err
}

// ensureNodeRules makes the rules of the nodes' security group for the bastion those that allow SSH from the addresses.
func (c *call) ensureNodeRules(ctx context.Context, groupID string, from []netip.Addr) error {
	wanted := lists.Map(from, func(address netip.Addr) securityrule.Rule {
		return ssh.From(netip.PrefixFrom(address, address.BitLen()))
	})
	err := securityrule.Ensure(ctx, c.network, groupID, c.owner.BastionRule(c.name), wanted)
	if platform.ClassOf(err) == platform.ClassConflict {
		// Another bastion that had the address has not been deleted completely. The next call creates the rule.
		return platform.NewProgress("another rule for the addresses %s of the bastion exists: %w", from, err)
	}
	return err
}
