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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	kubernetesowner "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// claim is the claim of one machine's address in a pool. Its errors name machine and namespace.
type claim struct {
	session *client.Session
	owner   kubernetesowner.Owner
	machine string
	spec    *v1alpha1.VSphereMachineSpec
}

func (c *call) claim() claim {
	return claim{session: c.session, owner: kubernetesowner.Owner{Shoot: c.owner.Shoot, Site: c.request.Spec.Site},
		machine: c.request.Name, spec: c.spec}
}

// createWithAddress is like create for a virtual machine with an address from a pool. The address is claimed first, so that it is the same
// however often the creation is interrupted. The machine exists when it is powered on: what is incomplete is completed by another creation
// until then.
func (c *call) createWithAddress(ctx context.Context, plan *plan, accept func()) (platform.Machine, error) {
	claim := c.claim()
	address, err := claim.ensure(ctx)
	if err != nil {
		return platform.Machine{}, err
	}
	others, err := c.list(ctx, 0)
	if err != nil {
		return platform.Machine{}, err
	}
	if err := checkUnused(address, c.request.Name, c.owner, others); err != nil {
		return platform.Machine{}, claim.failed(err)
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

// addresses returns the address claims of the shoot on the site. Those of bastions are among them.
func (a claim) addresses() (*ipam.Addresses, error) {
	session, err := a.session.IPAM()
	if err != nil {
		return nil, err
	}
	return ipam.New(session.Client(), session.Namespace, a.owner), nil
}

// failed returns the error with the pool.
func (a claim) failed(err error) error {
	return platform.NewError(platform.ClassOf(err), "address of machine %q from %s in namespace %q of vsphere.ipam: %w",
		a.machine, ipam.Describe(a.spec.Addresses.PoolRef), a.spec.Connection.IPAM.Namespace, err)
}

// ensure returns the address of the machine, which it claims if the machine has none.
func (a claim) ensure(ctx context.Context) (ipam.Address, error) {
	addresses, err := a.addresses()
	if err != nil {
		return ipam.Address{}, err
	}
	address, err := addresses.Ensure(ctx, a.machine, a.spec.Addresses.PoolRef)
	if err == nil && !address.Gateway.IsValid() && a.spec.Addresses.Gateway != "" {
		address.Gateway, err = netip.ParseAddr(a.spec.Addresses.Gateway)
	}
	if err == nil {
		err = checkOnSite(address, a.spec.Addresses.Nodes)
	}
	if err != nil {
		return ipam.Address{}, a.failed(err)
	}
	return address, nil
}

// release releases the address of the machine, which has no virtual machine. It may have one even if new machines of the site use DHCP.
func (a claim) release(ctx context.Context) error {
	if a.spec.Connection.IPAM == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	addresses, err := a.addresses()
	if err == nil {
		err = addresses.Release(ctx, a.machine)
	}
	if err != nil {
		return &platform.Error{Class: platform.ClassOf(err), Err: fmt.Errorf("address of machine %q in namespace %q of vsphere.ipam: %w",
			a.machine, a.spec.Connection.IPAM.Namespace, err)}
	}
	return nil
}

// checkOnSite returns an error if a machine with the address would not be a node of the site.
func checkOnSite(address ipam.Address, ranges []string) error {
	ip := address.IP.Addr()
	isInside := func(text string) bool {
		nodes, err := netip.ParsePrefix(text)
		return err == nil && nodes.Contains(ip)
	}
	switch {
	case !slices.ContainsFunc(ranges, isInside):
		return platform.NewError(platform.ClassConfiguration, "%s is outside the nodes of the site, %s; correct the addresses of the pool", ip,
			strings.Join(ranges, ", "))
	case address.Gateway == ip:
		return platform.NewError(platform.ClassConfiguration, "%s is the gateway; exclude it from the addresses of the pool", ip)
	case address.Gateway.IsValid() && !address.IP.Contains(address.Gateway):
		return platform.NewError(platform.ClassConfiguration, "the gateway %s is outside %s; correct gateway or prefix of the pool",
			address.Gateway, address.IP.Masked())
	}
	return nil
}

// checkUnused returns an error if another virtual machine of the shoot has the address.
func checkUnused(address ipam.Address, machine string, o owner.Owner, vms []*virtualMachine) error {
	for _, vm := range vms {
		if vm.ExtraConfig[owner.KeyAddress] == address.IP.String() && vm.machineName(o) != machine {
			return platform.NewError(platform.ClassConflict, "%s is that of virtual machine %q; remove it from the pool until that is deleted",
				address.IP.Addr(), vm.Name)
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
