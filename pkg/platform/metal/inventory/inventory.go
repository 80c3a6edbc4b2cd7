// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package inventory has what a bare-metal site's inventories have in common. An inventory knows the hosts of a site, and hands
// them out to machines.
package inventory

import (
	"context"
	"net/netip"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Inventory hands out the hosts of one site to the machines of one shoot. It is safe for concurrent use. Errors are classified.
type Inventory interface {
	// Faults returns what is wrong with the hosts of machines of the shoots on the site. It is meant to be called again and again.
	Faults(ctx context.Context, shoots []string) ([]platform.Fault, error)
	// Resources are the versions of the APIs that the inventory must serve.
	Resources() []schema.GroupVersionResource
	// Permissions are what the credentials must be allowed to do.
	Permissions() []authorizationv1.ResourceAttributes
	// Hosts returns the hosts that each selection selects, whoever uses them, in the order of the selections. It looks at the inventory
	// once, however many selections there are.
	Hosts(ctx context.Context, selections ...Selection) ([][]Host, error)
	// HasProviderID reports whether the provider ID has the form of those of the inventory's namespace.
	HasProviderID(providerID string) bool
	// Find returns the host of the machine with the provider ID, nil if the machine does not have that host. The name of the machine may
	// be empty if there is an ID. Without an ID it returns the only host of the machine; it is a conflict if there are several.
	Find(ctx context.Context, machine, providerID string) (*Host, error)
	// FindByNodeName returns hosts of the shoot on the site that include that of the node with the name, if it exists.
	FindByNodeName(ctx context.Context, name string) ([]Host, error)
	// Check returns an error unless the inventory can be read.
	Check(ctx context.Context) error
	// Machines returns the hosts of all machines of the shoot on the site.
	Machines(ctx context.Context) ([]Host, error)
	// Claim gives the machine a host, the one that it has already or a free one that the request selects, and writes to it what the
	// machine shall be. It completes what an interrupted call began. The error is of platform.ClassExhausted, and says how many
	// hosts match, if none is free.
	Claim(ctx context.Context, request Claim) (*Host, error)
	// Release takes what the machine was from the host that Find returns, and the host from the machine when it is clean. It succeeds
	// when the machine does not have that host any more, and returns a transient error that says how far it is before that. shared is
	// true if the machine still has another host, which needs what the machine has beside its host.
	Release(ctx context.Context, machine, providerID, cleaning string) (shared bool, err error)
}

// Claim is what a machine wants of a host.
type Claim struct {
	// Machine is the name of the machine.
	Machine string
	// Selection selects the hosts that it may be.
	Selection
	// Image is what is written to the host.
	Image v1alpha1.MetalImage
	// Data returns what the machine is told at its first boot, once it is known which host it is.
	Data func(ctx context.Context, host *Host) (Data, error)
}

// Data is what a machine is told at its first boot.
type Data struct {
	// UserData is the user data.
	UserData []byte
	// NodeName is the name of the node. The inventory tells it to the machine, too.
	NodeName string
	// NetworkData is the network configuration, empty if there is none. The inventory tells it to the machine, too.
	NetworkData []byte
}

// Host is one host.
type Host struct {
	// Name is the name of the host.
	Name string
	// State says who may use the host.
	State State
	// Machine is the name of the shoot's machine that the host is, empty if it is none.
	Machine string
	// ProviderID is the provider ID of that machine.
	ProviderID string
	// NodeName is the name of that machine's node, empty if it is not known.
	NodeName string
	// Labels are the labels of the host.
	Labels map[string]string
	// SystemUUID is the UUID that the host's firmware reports, empty if it is not known. It is set for machines only, like all that
	// follows about hardware and power.
	SystemUUID string
	// Vendor and Model are empty if they are not known.
	Vendor, Model string
	// DiscoveredAddresses are the addresses that the host had when its hardware was discovered, before it was the machine.
	DiscoveredAddresses []netip.Addr
	// Off is true if the inventory is certain that the host has no power.
	Off bool
	// MACAddress is that of the interface that the host boots from, empty if it is not known.
	MACAddress string
	// Complete is true if everything was written that the machine needs. What became of it is up to the inventory.
	Complete bool
	// Running is true if the machine's system was started.
	Running bool
	// Fault is the inventory's own message about what is wrong with the host, empty if nothing is or if the host is in
	// maintenance.
	Fault string
}

// State says who may use a host.
type State string

const (
	// Free hosts can be claimed.
	Free State = "Free"
	// Claimed hosts belong to a machine of the shoot.
	Claimed State = "Claimed"
	// Taken hosts are used by someone else.
	Taken State = "Taken"
	// Unready hosts are used by nobody, but cannot be claimed now, for example because they are inspected or cleaned, in
	// maintenance, tainted or faulty.
	Unready State = "Unready"
)
