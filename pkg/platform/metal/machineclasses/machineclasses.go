// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineclasses resolves the machines of pools on bare-metal sites: which hosts they may use, and what is written to them.
package machineclasses

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type machineClasses struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the MachineClasses part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.MachineClasses {
	return &machineClasses{sessions: sessions, open: open}
}

// Resolve implements platform.MachineClasses.
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest,
	spec *v1alpha1.MachineProviderSpec) (err error) {
	defer platform.NameSite(request.Site.Name, &err)
	resolved, hosts, err := specOf(request)
	if err != nil {
		return err
	}
	selected, err := hosts.Selection(resolved.Cleaning)
	if err != nil {
		return err
	}
	_, known, err := m.open.Open(ctx, m.sessions, inventory.Request{
		Options:      inventory.Options{Owner: owner.Owner{Shoot: request.Site.Shoot, Site: request.Site.Name}},
		Connection:   resolved.Connection,
		Credentials:  request.Site.Credentials,
		NamespaceUID: resolved.NamespaceUID,
	})
	if err != nil {
		return err
	}
	found, err := known.Hosts(ctx, selected)
	if err != nil {
		return err
	}
	if err := checkRolling(request, selected, len(found[0])); err != nil {
		return err
	}
	spec.Metal = resolved
	return nil
}

// RollsFor implements platform.MachineClasses. A host that is no longer selected keeps its machine, and everything else affects only
// machines that are created later.
func (m *machineClasses) RollsFor(platform.MachineClassRequest) []string {
	return nil
}

// NodeLabels implements platform.MachineClasses. Local volumes need no label except the hostname.
func (m *machineClasses) NodeLabels(*site.Site, *v1alpha1.SiteZone) map[string]string {
	return nil
}

// Locate implements platform.MachineClasses.
func (m *machineClasses) Locate(s *site.Site, status *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error) {
	if s.Profile == nil || s.Profile.Metal == nil {
		return nil, platform.InSite(s.Name, missing("the CloudProfile no longer has a bare-metal site of this name"))
	}
	spec := &v1alpha1.MetalMachineSpec{Connection: client.ConnectionOf(s.Profile), Cleaning: s.Profile.Metal.Cleaning,
		NodeName: s.Profile.Metal.NodeName, NamespaceUID: namespaceUID(status)}
	return []*v1alpha1.MachineProviderSpec{{Site: s.Name, Shoot: s.Shoot, Metal: spec}}, nil
}

// specOf returns the provider spec and the requirements for hosts. It sends no requests to the site.
func specOf(request platform.MachineClassRequest) (*v1alpha1.MetalMachineSpec, inventory.Requirements, error) {
	if err := check(request); err != nil {
		return nil, inventory.Requirements{}, err
	}
	hosts, err := inventory.RequirementsOf(request.Zone.Metal, request.MachineType.Metal, request.Settings.Metal)
	if err != nil {
		return nil, hosts, err
	}
	profile := request.Site.Profile.Metal
	return &v1alpha1.MetalMachineSpec{
		Connection:   client.ConnectionOf(request.Site.Profile),
		HostSelector: hosts.Selector,
		Tolerations:  hosts.Tolerations,
		Image:        *request.Image.Metal,
		Cleaning:     profile.Cleaning,
		NodeName:     profile.NodeName,
		Network:      networkOf(request.Site),
		NamespaceUID: namespaceUID(request.Status),
	}, hosts, nil
}

// namespaceUID returns the UID of the namespace of the inventory, empty if it is not known.
func namespaceUID(status *v1alpha1.SiteStatus) string {
	if status == nil || status.Metal == nil {
		return ""
	}
	return status.Metal.NamespaceUID
}

// check finds blocks that are missing in the CloudProfile, and what hosts do not support.
func check(request platform.MachineClassRequest) error {
	switch {
	case request.Site.Profile == nil || request.Site.Profile.Metal == nil:
		return missing("the CloudProfile no longer has a bare-metal site of this name")
	case request.Zone == nil || request.Zone.Metal == nil:
		return missing("the zone has no metal block in the CloudProfile")
	case request.MachineType == nil || request.MachineType.Metal == nil:
		return missing("the machine type has no metal block on the site in the CloudProfile")
	case request.Image == nil || request.Image.Metal == nil:
		return missing("the machine image has no metal block in the CloudProfile")
	case len(request.DataVolumes) > 0:
		return missing("the pool has dataVolumes, but hosts have only their own disks")
	}
	return nil
}

func missing(what string) error {
	return platform.NewError(platform.ClassConfiguration, "%s", what)
}

// networkOf returns the network configuration of the site's machines, nil if it is left to DHCP.
func networkOf(s *site.Site) *v1alpha1.MetalMachineNetwork {
	if s.Config == nil || s.Config.Metal == nil || s.Config.Metal.NetworkDataTemplate == "" {
		return nil
	}
	network := &v1alpha1.MetalMachineNetwork{
		Template:   s.Config.Metal.NetworkDataTemplate,
		DNSServers: s.Network.DNSServers,
		MTU:        s.Network.MTU,
	}
	if ipam := s.Config.Metal.IPAM; ipam != nil {
		network.PoolRef = ipam.PoolRef.DeepCopy()
	}
	if s.Network.Gateway.IsValid() {
		network.Gateway = s.Network.Gateway.String()
	}
	return network
}
