// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
)

const (
	// Bridge is the interface that cables lead to.
	Bridge = "br0"

	maxNetworks = 16
)

// Network is a segment that machines are plugged into. This process reaches it, and is its gateway.
type Network struct {
	// Prefix has the addresses of the segment.
	Prefix netip.Prefix
	// Gateway is the address of this process, the first one of the prefix.
	Gateway netip.Addr

	namespace *netns.Namespace
	bridge    string
	// slot is that of the prefix, nil if somebody else gives addresses.
	slot *slot
	taps atomic.Int32
}

// NewNetwork makes a segment with one of a few prefixes that no other process has. Close ends what was made, also after an error.
func NewNetwork() (*Network, error) {
	slot, err := takeSlot("networks", maxNetworks)
	if err != nil {
		return &Network{}, err
	}
	n := &Network{bridge: Bridge, slot: slot, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, byte(slot.number), 0}), 24)}
	n.Gateway = n.Prefix.Addr().Next()
	return n, n.connect()
}

// Join returns the segment of a bridge in the namespace of this process, in which somebody else decides what leads on from there, and gives
// addresses. The bridge is made if it is not there when a machine is plugged in.
func Join(bridge string) (*Network, error) {
	own, err := netns.Own()
	return &Network{bridge: bridge, namespace: own}, err
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
	if err := n.namespace.IP("link add "+Bridge+" type bridge", "link set "+Bridge+" up"); err != nil {
		return err
	}
	if err := n.namespace.Connect(own, "uplink", n.uplink(), Bridge); err != nil {
		return err
	}
	return own.IP(fmt.Sprintf("addr add %s/%d dev %s", n.Gateway, n.Prefix.Bits(), n.uplink()), "link set "+n.uplink()+" up")
}

// uplink is the interface of this process.
func (n *Network) uplink() string { return fmt.Sprintf("machines%d", n.slot.number) }

// Flush lets this process forget which card has which address.
func (n *Network) Flush() error {
	own, err := netns.Own()
	if err != nil {
		return err
	}
	return errors.Join(own.IP("neigh flush dev "+n.uplink()), own.Close())
}

// newTap makes what the card of a machine is plugged into. It has a name of its own if none is given.
func (n *Network) newTap(name string) (string, error) {
	if name == "" {
		name = fmt.Sprintf("tap%d", n.taps.Add(1))
	}
	if n.slot == nil {
		if _, err := net.InterfaceByName(n.bridge); err != nil {
			if err := n.namespace.IP("link add "+n.bridge+" type bridge", "link set "+n.bridge+" up"); err != nil {
				return "", err
			}
		}
	}
	return name, n.namespace.IP("tuntap add dev "+name+" mode tap", "link set "+name+" master "+n.bridge+" up")
}

// Enter moves the current thread to the namespace with the bridge. The thread must be locked and be used for nothing else afterwards.
func (n *Network) Enter() error { return n.namespace.Enter() }

// Pull takes the cable out of a card, which is an interface of the namespace.
func (n *Network) Pull(card string) error { return n.namespace.IP("link set " + card + " nomaster") }

// Plug puts the cable into a card.
func (n *Network) Plug(card string) error {
	return n.namespace.IP("link set " + card + " master " + n.bridge)
}

// Remove removes a card.
func (n *Network) Remove(card string) error { return n.namespace.IP("link del " + card) }

// Close removes the segment as soon as nothing is plugged in, or leaves it if it is that of somebody else.
func (n *Network) Close() error {
	if n.slot == nil {
		if n.namespace != nil {
			return n.namespace.Close()
		}
		return nil
	}
	errs := []error{n.slot.free()}
	if n.namespace != nil {
		errs = append(errs, n.namespace.IP("link del uplink"), n.namespace.Close())
	}
	return errors.Join(errs...)
}
