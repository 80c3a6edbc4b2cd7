// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines creates, finds and deletes the machines of a bare-metal site, which are hosts of its inventory.
package machines

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

type machines struct {
	sessions *client.Sessions
	open     inventory.Opener
}

// New returns the Machines part of the bare-metal platform.
func New(sessions *client.Sessions, open inventory.Opener) platform.Machines {
	return &machines{sessions: sessions, open: open}
}

// call is one operation on the machines of one shoot on one site.
type call struct {
	request   platform.MachineRequest
	spec      *v1alpha1.MetalMachineSpec
	inventory inventory.Inventory
	addresses *ipam.Addresses
}

func (m *machines) call(ctx context.Context, request platform.MachineRequest) (*call, error) {
	spec := request.Spec
	if spec.Metal == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the provider spec has no metal block")
	}
	o := owner.Owner{Shoot: spec.Shoot, Site: spec.Site}
	session, hosts, err := m.open.Open(ctx, m.sessions, inventory.Request{
		Options:      inventory.Options{Owner: o, Watched: true},
		Connection:   spec.Metal.Connection,
		Credentials:  request.Credentials,
		NamespaceUID: spec.Metal.NamespaceUID,
	})
	if err != nil {
		return nil, err
	}
	if id := request.ProviderID; id != "" && !hosts.HasProviderID(id) {
		return nil, platform.NewError(platform.ClassConfiguration,
			"metal.connection: machine %q is %s, which is not in inventory %s in namespace %q; "+
				"nothing is touched until the connection is to that inventory and namespace again",
			request.Name, id, spec.Metal.Connection.Inventory, spec.Metal.Connection.Namespace)
	}
	return &call{
		request:   request,
		spec:      spec.Metal,
		inventory: hosts,
		addresses: ipam.New(session.Client(), session.Namespace, o),
	}, nil
}

// Create implements platform.Machines.
func (m *machines) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).create)
}

func (c *call) create(ctx context.Context) (platform.Machine, error) {
	hosts := inventory.Requirements{Selector: cmp.Or(c.spec.HostSelector, &metav1.LabelSelector{}), Tolerations: c.spec.Tolerations}
	selected, err := hosts.Selection(c.spec.Cleaning)
	if err != nil {
		return platform.Machine{}, err
	}
	selected.OSRelease = c.spec.Image.OSRelease
	host, err := c.inventory.Claim(ctx, inventory.Claim{
		Machine:   c.request.Name,
		Selection: selected,
		Image:     c.spec.Image,
		Data:      c.data,
	})
	if err != nil {
		return platform.Machine{}, err
	}
	return c.machine(host), nil
}

// Initialize implements platform.Machines. Hosts fail minutes later, if at all.
func (m *machines) Initialize(context.Context, platform.MachineRequest) error {
	return nil
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).get)
}

// get returns the machine even while its host is not ready. The creation of a machine without an ID may have been interrupted: it exists
// only if its system was started, so that it is completed otherwise.
func (c *call) get(ctx context.Context) (platform.Machine, error) {
	host, err := c.inventory.Find(ctx, c.request.Name, c.request.ProviderID)
	switch {
	case err != nil:
		return platform.Machine{}, err
	case host == nil && c.request.ProviderID != "":
		return platform.Machine{}, platform.NewError(platform.ClassNotFound, "machine %q does not have the host of %s", c.request.Name,
			c.request.ProviderID)
	case host == nil:
		return platform.Machine{}, platform.NewError(platform.ClassNotFound, "machine %q has no host", c.request.Name)
	case c.request.ProviderID == "" && !host.Running:
		return platform.Machine{}, platform.NewError(platform.ClassNotFound, "machine %q may not be complete: host %q does not run yet",
			c.request.Name, host.Name)
	default:
		return c.machine(host), nil
	}
}

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	_, err := platform.Perform(ctx, request, m.call, func(c *call, ctx context.Context) (any, error) { return nil, c.delete(ctx) })
	return err
}

// delete releases the host, and then the address if no other host uses it. The machine may have an address even if new machines of the
// site get none.
func (c *call) delete(ctx context.Context) error {
	shared, err := c.inventory.Release(ctx, c.request.Name, c.request.ProviderID, c.spec.Cleaning)
	if shared || err != nil {
		return err
	}
	err = c.addresses.Release(ctx, c.request.Name)
	if c.spec.Network == nil || c.spec.Network.PoolRef == nil {
		switch platform.ClassOf(err) {
		case platform.ClassConfiguration, platform.ClassForbidden:
			// Without the API of address claims, or permissions for it, no claim was made.
			return nil
		}
	}
	return err
}

// List implements platform.Machines.
func (m *machines) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).list)
}

func (c *call) list(ctx context.Context) ([]platform.Machine, error) {
	hosts, err := c.inventory.Machines(ctx)
	return lists.Map(hosts, func(host inventory.Host) platform.Machine {
		return platform.Machine{Name: host.Machine, NodeName: host.NodeName, ProviderID: host.ProviderID}
	}), err
}

// VolumeID implements platform.Machines. Local volumes are not attached.
func (m *machines) VolumeID(*corev1.PersistentVolumeSpec) (string, bool) {
	return "", false
}

func (c *call) machine(host *inventory.Host) platform.Machine {
	return platform.Machine{Name: c.request.Name, NodeName: cmp.Or(host.NodeName, c.nodeName(host)), ProviderID: host.ProviderID}
}

// nodeName returns the name of the machine's node on the host.
func (c *call) nodeName(host *inventory.Host) string {
	if c.spec.NodeName == v1alpha1.MetalNodeNameHost {
		return host.Name
	}
	return c.request.Name
}

// data returns the machine's data for its first boot on the host.
func (c *call) data(ctx context.Context, host *inventory.Host) (inventory.Data, error) {
	network, err := c.networkData(ctx, host)
	if err != nil {
		return inventory.Data{}, err
	}
	return inventory.Data{UserData: c.request.UserData, NodeName: c.nodeName(host), NetworkData: network}, nil
}

// networkData returns the network configuration of the machine on the host, with an address of its own if there is a pool. It is empty
// if there is no template.
func (c *call) networkData(ctx context.Context, host *inventory.Host) ([]byte, error) {
	network := c.spec.Network
	if network == nil {
		return nil, nil
	}
	values := networkdata.Values{
		Machine:    c.request.Name,
		Host:       host.Name,
		MAC:        host.MACAddress,
		Gateway:    network.Gateway,
		DNSServers: network.DNSServers,
		MTU:        network.MTU,
	}
	if network.PoolRef != nil {
		address, err := c.addresses.Ensure(ctx, c.request.Name, *network.PoolRef)
		if err != nil {
			return nil, err
		}
		values.Address, values.Prefix = address.IP.Addr().String(), address.IP.Bits()
		if address.Gateway.IsValid() {
			values.Gateway = address.Gateway.String()
		}
	}
	if network.Template == "" {
		return nil, nil
	}
	text, err := networkdata.Expand(network.Template, values)
	if err == nil {
		err = networkdata.Check(c.spec.Connection.Inventory, text)
	}
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "networkDataTemplate for machine %q on host %q with inventory %q: %w",
			c.request.Name, host.Name, c.spec.Connection.Inventory, err)
	}
	return []byte(text), nil
}
