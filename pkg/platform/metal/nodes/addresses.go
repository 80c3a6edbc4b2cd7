// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// addresses returns the addresses of the node on the host: those that the node has, or else the one that its machine got from a pool,
// or else those of the host's discovery. The kubelet knows best which address is the node's, but reports one only if it was configured;
// the discovery took place before the machine started, and may have been in another network.
func (m *machines) addresses(ctx context.Context, node *corev1.Node, host *inventory.Host) ([]corev1.NodeAddress, error) {
	hostname := corev1.NodeAddress{Type: corev1.NodeHostName, Address: node.Name}
	var own []corev1.NodeAddress
	for _, address := range node.Status.Addresses {
		switch address.Type {
		case corev1.NodeInternalIP:
			own = append(own, address)
		case corev1.NodeHostName:
			hostname = address
		}
	}
	if len(own) > 0 {
		return append(own, hostname), nil
	}

	addresses, err := m.allocated(ctx, host.Machine)
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		addresses = slices.DeleteFunc(slices.Clone(host.DiscoveredAddresses), func(a netip.Addr) bool { return !a.IsGlobalUnicast() })
	}
	if len(addresses) == 0 {
		return nil, platform.NewError(platform.ClassTransient,
			"no address of node %q is known: its kubelet reports none, its machine has none from a pool, and none was discovered on host %q",
			node.Name, host.Name)
	}
	result := make([]corev1.NodeAddress, 0, len(addresses)+1)
	for _, address := range addresses {
		result = append(result, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	return append(result, hostname), nil
}

// allocated returns the address that the machine got from a pool, if it has one.
func (m *machines) allocated(ctx context.Context, machine string) ([]netip.Addr, error) {
	session, _, err := m.hosts(ctx)
	if err != nil {
		return nil, err
	}
	address, err := ipam.New(session.Client(), session.Namespace, m.owner).Get(ctx, machine)
	if ipam.IsUnavailable(err) || err == nil && !address.IP.IsValid() {
		return nil, nil
	}
	return []netip.Addr{address.IP.Addr()}, err
}
