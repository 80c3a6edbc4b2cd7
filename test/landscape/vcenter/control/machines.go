// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"time"
)

// PathMachines takes the Guests of virtual machines, and returns the Wishes since the last call. The vCenter must
// have been started for machines that boot.
const PathMachines = "/machines"

// Guest is what runs in a virtual machine.
type Guest struct {
	// ID is the managed object ID of the virtual machine.
	ID string
	// Booted is when the virtual machine was powered on, zero if it is off. What is said is only for the time since then.
	Booted time.Time
	// Off is whether the machine has switched itself off.
	Off bool
	// Tools is whether VMware's tools run. Without them, the vCenter does not know the rest.
	Tools bool
	// HostName is the name of the guest.
	HostName string
	// Cards are the network interfaces with addresses.
	Cards []Card
}

// Card is a network interface of a guest.
type Card struct {
	// MAC is its hardware address.
	MAC string
	// Addresses are its IP addresses.
	Addresses []string
}

// Wishes are what the vCenter was asked to let guests do.
type Wishes struct {
	// ShutDown are the managed object IDs of the virtual machines whose guests shall shut down.
	ShutDown []string
}
