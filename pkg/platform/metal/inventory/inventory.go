// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package inventory has what a bare-metal site's inventories have in common. An inventory knows the hosts of a site, and hands
// them out to machines.
package inventory

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Inventory hands out the hosts of one site to the machines of one shoot. It is safe for concurrent use. Errors are classified.
type Inventory interface {
	// Faults returns the faults of hosts of machines of the shoots on the site. It is called periodically.
	Faults(ctx context.Context, shoots []string) ([]platform.Fault, error)
	// Resources are the versions of the APIs that the inventory must serve.
	Resources() []schema.GroupVersionResource
	// Permissions are what the credentials must be allowed to do.
	Permissions() []authorizationv1.ResourceAttributes
	// Hosts returns the hosts that each selection selects, free or not, in the order of the selections. It reads the inventory once for
	// all selections.
	Hosts(ctx context.Context, selections ...Selection) ([][]Host, error)
	// Survey returns all hosts with their hardware. It reads more of each host than Hosts, and never from watches.
	Survey(ctx context.Context, cleaning string) ([]Surveyed, error)
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
	// Claim gives the machine the host that it already has, or a free one that the request selects, and configures it as the machine. It
	// completes an interrupted call. The error is of platform.ClassExhausted, and says how many hosts match, if none is free.
	Claim(ctx context.Context, request Claim) (*Host, error)
	// Release cleans the host that Find returns, and then frees it. It succeeds when the machine no longer has that host, and returns a
	// transient error that reports the progress before that. shared is true if the machine still has another host, which needs the other
	// objects of the machine.
	Release(ctx context.Context, machine, providerID, cleaning string) (shared bool, err error)
}

// Claim is a machine's request for a host.
type Claim struct {
	// Machine is the name of the machine.
	Machine string
	// Selection selects the hosts that it may use.
	Selection
	// Image is what is written to the host.
	Image v1alpha1.MetalImage
	// Data returns the machine's data for its first boot on the host.
	Data func(ctx context.Context, host *Host) (Data, error)
}

// Data is passed to a machine at its first boot.
type Data struct {
	// UserData is the user data.
	UserData []byte
	// NodeName is the name of the node. The inventory passes it to the machine.
	NodeName string
	// NetworkData is the network configuration, empty if there is none. The inventory passes it to the machine.
	NetworkData []byte
}

// Host is one host.
type Host struct {
	// Name is the name of the host.
	Name string
	// State says who may use the host.
	State State
	// Machine is the name of the shoot's machine on the host, empty if there is none.
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
	// MACAddress is the address of the interface that the host boots from, empty if it is not known.
	MACAddress string
	// Complete is true if everything that the machine needs was written. The inventory does the rest.
	Complete bool
	// Running is true if the machine's system was started.
	Running bool
	// Provisioned is when the image was written to the host, zero if that is not known.
	Provisioned time.Time
	// Fault is the inventory's message about a fault of the host, empty if there is none or if the host is in maintenance.
	Fault string
}

// Surveyed is a host with its hardware. What the inventory does not know is empty.
type Surveyed struct {
	// Name is the name of the host.
	Name string
	// Labels are the labels of the host.
	Labels map[string]string
	// Free is true if the host can be claimed.
	Free bool
	// Tainted is true if only machines that tolerate its taints may use the host.
	Tainted bool
	// CPUs is the number of CPUs as operating systems count them, and Memory the memory in bytes.
	CPUs, Memory int64
	// Architecture is that of the CPUs, as the inventory calls it.
	Architecture string
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
	// Unready hosts are unused, but cannot be claimed now, for example because they are being inspected or cleaned, in
	// maintenance, tainted or faulty.
	Unready State = "Unready"
)

// Obstacle is why a host cannot be claimed, in the terms of the inventory.
type Obstacle string

// ObstacleTaken is the obstacle of hosts in use.
const ObstacleTaken Obstacle = "taken"

// State returns the state of a host with the obstacle.
func (o Obstacle) State() State {
	switch o {
	case "":
		return Free
	case ObstacleTaken:
		return Taken
	default:
		return Unready
	}
}

// Counts is how many hosts match a selection, and how many of them have each obstacle.
type Counts struct {
	Total, Matching, Free int
	Obstacles             map[Obstacle]int
}

// Exhausted returns the error that no host is free. what is the inventory's term for hosts, and order is the order of the obstacles in the
// message. Free hosts count as taken, because others are claiming them.
func (c Counts) Exhausted(what string, order []Obstacle) error {
	text := fmt.Sprintf("%d of %d %s match, 0 are free", c.Matching, c.Total, what)
	var details []string
	for _, o := range order {
		number := c.Obstacles[o]
		if o == ObstacleTaken {
			number += c.Free
		}
		if number > 0 {
			details = append(details, fmt.Sprintf("%d %s", number, o))
		}
	}
	if len(details) > 0 {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	return platform.NewError(platform.ClassExhausted, "%s", text)
}
