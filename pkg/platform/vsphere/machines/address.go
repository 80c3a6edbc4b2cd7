// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	kubernetesowner "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// addresses returns the address claims of the shoot on the site. Those of bastions are among them.
func (c *call) addresses() (*ipam.Addresses, error) {
	session, err := c.session.IPAM()
	if err != nil {
		return nil, err
	}
	return ipam.New(session.Client(), session.Namespace, kubernetesowner.Owner{Shoot: c.owner.Shoot, Site: c.request.Spec.Site}), nil
}

// createWithAddress is like create for a virtual machine with an address from a pool. The address is claimed first, so that it is the same
// however often the creation is interrupted. The machine exists when it is powered on: what is incomplete is completed by another creation
// until then.
func (c *call) createWithAddress(ctx context.Context, plan *plan, accept func()) (platform.Machine, error) {
	address, err := c.claim(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	plan.address = &address
	vm, err := c.cloneOrAdopt(ctx, plan, func() {})
	if err != nil {
		return platform.Machine{}, err
	}
	if !vm.isOn() {
		if err := c.configure(ctx, vm, address); err != nil {
			return platform.Machine{}, err
		}
	}
	if err := c.complete(ctx, vm); err != nil {
		return platform.Machine{}, err
	}
	accept()
	return vm.machine(c.request.Name), nil
}

// claim returns the address of the machine, which it claims if the machine has none. The error names the pool.
func (c *call) claim(ctx context.Context) (ipam.Address, error) {
	addresses, err := c.addresses()
	if err != nil {
		return ipam.Address{}, err
	}
	address, err := addresses.Ensure(ctx, c.request.Name, c.spec.Addresses.PoolRef)
	if err == nil && !address.Gateway.IsValid() && c.spec.Addresses.Gateway != "" {
		address.Gateway, err = netip.ParseAddr(c.spec.Addresses.Gateway)
	}
	if err == nil {
		err = c.checkAddress(ctx, address)
	}
	if err != nil {
		return ipam.Address{}, platform.NewError(platform.ClassOf(err), "address of machine %q from %s in namespace %q of vsphere.ipam: %w",
			c.request.Name, ipam.Describe(c.spec.Addresses.PoolRef), c.spec.Connection.IPAM.Namespace, err)
	}
	return address, nil
}

// checkAddress returns an error if a machine with the address would not be a node of the site, or would disturb another one.
func (c *call) checkAddress(ctx context.Context, address ipam.Address) error {
	ip := address.IP.Addr()
	isInside := func(text string) bool {
		nodes, err := netip.ParsePrefix(text)
		return err == nil && nodes.Contains(ip)
	}
	switch {
	case !slices.ContainsFunc(c.spec.Addresses.Nodes, isInside):
		return platform.NewError(platform.ClassConfiguration, "%s is outside the nodes of the site, %s; correct the addresses of the pool", ip,
			strings.Join(c.spec.Addresses.Nodes, ", "))
	case address.Gateway == ip:
		return platform.NewError(platform.ClassConfiguration, "%s is the gateway; exclude it from the addresses of the pool", ip)
	case address.Gateway.IsValid() && !address.IP.Contains(address.Gateway):
		return platform.NewError(platform.ClassConfiguration, "the gateway %s is outside %s; correct gateway or prefix of the pool",
			address.Gateway, address.IP.Masked())
	}
	others, err := c.list(ctx, 0)
	if err != nil {
		return err
	}
	for _, vm := range others {
		if vm.ExtraConfig[owner.KeyAddress] == address.IP.String() && vm.machineName(c.owner) != c.request.Name {
			return platform.NewError(platform.ClassConflict, "%s is that of virtual machine %q; remove it from the pool until that is deleted", ip,
				vm.Name)
		}
	}
	return nil
}

// configure writes the network configuration of a virtual machine that is off.
func (c *call) configure(ctx context.Context, vm *virtualMachine, address ipam.Address) error {
	cards := cardsOf(vm.devices())
	if len(cards) == 0 || cards[0].GetVirtualEthernetCard().MacAddress == "" {
		return platform.NewError(platform.ClassTransient, "the network card of virtual machine %q has no MAC address yet", c.request.Name)
	}
	guest, err := guestInfo(c.request, c.uuid(), &network{
		mac:        strings.ToLower(cards[0].GetVirtualEthernetCard().MacAddress),
		address:    address,
		dnsServers: c.spec.Addresses.DNSServers,
		mtu:        c.spec.Addresses.MTU,
	})
	if err != nil {
		return err
	}
	config := map[string]string{owner.KeyAddress: address.IP.String()}
	maps.Copy(config, guest)
	return vm.reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: options(config)})
}

// release releases the address of the machine, which has no virtual machine. It may have one even if new machines of the site use DHCP.
func (c *call) release(ctx context.Context) error {
	if c.spec.Connection.IPAM == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	addresses, err := c.addresses()
	if err == nil {
		err = addresses.Release(ctx, c.request.Name)
	}
	if err != nil {
		return &platform.Error{Class: platform.ClassOf(err), Err: fmt.Errorf("address of machine %q in namespace %q of vsphere.ipam: %w",
			c.request.Name, c.spec.Connection.IPAM.Namespace, err)}
	}
	return nil
}
