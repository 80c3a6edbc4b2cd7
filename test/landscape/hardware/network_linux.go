// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
)

const (
	maxNetworks = 16
	bridge      = "br0"
)

// Network is a segment that machines are plugged into. This process reaches it, and is its gateway.
type Network struct {
	// Prefix has the addresses of the segment.
	Prefix netip.Prefix
	// Gateway is the address of this process, the first one of the prefix.
	Gateway netip.Addr

	namespace *netns.Namespace
	slot      *slot
	taps      atomic.Int32
}

// newNetwork makes a segment with one of a few prefixes that no other process has.
func newNetwork() (*Network, error) {
	slot, err := takeSlot("networks", maxNetworks)
	if err != nil {
		return nil, err
	}
	n := &Network{slot: slot, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, byte(slot.number), 0}), 24)}
	n.Gateway = n.Prefix.Addr().Next()
	return n, n.connect()
}

// connect makes the bridge and the pair of interfaces to this process' namespace.
func (n *Network) connect() error {
	own, err := netns.Own()
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	if n.namespace, err = netns.New(); err != nil {
		return err
	}
	if err := n.namespace.IP("link add "+bridge+" type bridge", "link set "+bridge+" up"); err != nil {
		return err
	}
	gateway := fmt.Sprintf("machines%d", n.slot.number)
	if err := n.namespace.Connect(own, "uplink", gateway, bridge); err != nil {
		return err
	}
	return own.IP(fmt.Sprintf("addr add %s/%d dev %s", n.Gateway, n.Prefix.Bits(), gateway), "link set "+gateway+" up")
}

// newTap makes what the card of a machine is plugged into.
func (n *Network) newTap() (string, error) {
	tap := fmt.Sprintf("tap%d", n.taps.Add(1))
	return tap, n.namespace.IP("tuntap add dev "+tap+" mode tap", "link set "+tap+" master "+bridge+" up")
}

// close removes the segment as soon as nothing is plugged in.
func (n *Network) close() error {
	var errs []error
	if n.namespace != nil {
		errs = append(errs, n.namespace.IP("link del uplink"), n.namespace.Close())
	}
	return errors.Join(append(errs, n.slot.free())...)
}
