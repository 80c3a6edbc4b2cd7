// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package control says how the simulated vCenter is disturbed and watched. Its process serves it as JSON on a port of its own.
package control

import (
	"time"
)

// What is used of each resource pool that a cluster has from the beginning.
const (
	UsedMHz = 121
	UsedMiB = 61
)

// Ready is what the process writes into a file when it serves.
type Ready struct {
	// Address is the host:port of the vCenter.
	Address string
	// Control is the base URL of the control port.
	Control string
}

// Settings are what tests change. The zero value is a vCenter without faults.
type Settings struct {
	// Down refuses all connections. The inventory stays.
	Down bool
	// InstanceUUID lets the vCenter be another one, with the same content.
	InstanceUUID string
	// Password replaces the user's password if it is not empty. Logins with another are refused, sessions go on.
	Password string
	// Answer is how long each answer waits.
	Answer time.Duration
	// Idle is after how long a session ends that nobody uses; never if it is zero.
	Idle time.Duration
	// Task is how long tasks take, except those that only turn a virtual machine on.
	Task time.Duration
	// Rule is how long it takes to change a rule of a cluster.
	Rule time.Duration
	// Faults are the faults of calls, the first that matches counts.
	Faults []Fault
	// Clone is what goes wrong with clones.
	Clone Clone
	// Hidden is the managed object ID of a folder that the user lost the privileges on: it cannot be read, and searches find nothing.
	Hidden string
	// Denied are privileges that the user does not have on any object.
	Denied []string
	// Datastores are the datastores with something wrong, by name, in each datacenter.
	Datastores map[string]Datastore
	// Unfinished lets no virtual machine have a configuration, as while it is being made.
	Unfinished bool
}

// Datastore is what is wrong with a datastore.
type Datastore struct {
	// Free is how many bytes are free, if it is not zero.
	Free int64
	// Maintenance is whether it is in maintenance.
	Maintenance bool
	// Inaccessible is whether no host can access it.
	Inaccessible bool
}

// Fault makes calls of a method fail.
type Fault struct {
	// Method is the name of the SOAP method, such as PowerOnVM_Task, or the path of the REST API.
	Method string
	// Type is the type of the fault, such as NoPermission; for the REST API the status.
	Type string
	// Times is how often the call fails; always if it is zero.
	Times int
	// InTask lets the task of the call fail, and not the call itself.
	InTask bool
}

// Clone is what goes wrong with clones although their tasks succeed.
type Clone struct {
	// Off leaves virtual machines off.
	Off bool
	// NoDisks leaves out the changes of disks.
	NoDisks bool
	// NoNetwork leaves the network card in the network of the template.
	NoNetwork bool
	// NoUUID gives virtual machines UUIDs of the vCenter's own.
	NoUUID bool
	// Times is how many clones are affected; all if it is zero.
	Times int
}

// Acted is how often what the Settings disturb was disturbed since they were set.
type Acted struct {
	// Faults has a number for each of the faults.
	Faults []int
	// Clones is how many clones were affected.
	Clones int
}

// Counts are the numbers of requests by service and method, such as vim25 RetrievePropertiesEx.
type Counts map[string]int

// Total is the number of all requests.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Inspector is the user agent of requests that are neither counted nor disturbed.
const Inspector = "inspector"

const (
	// PathSettings takes the new Settings.
	PathSettings = "/settings"
	// PathCounts returns the Counts and begins to count anew.
	PathCounts = "/counts"
	// PathActed returns what Acted.
	PathActed = "/acted"
	// PathAge takes a duration, for which nobody used any session.
	PathAge = "/age"
	// PathEndSessions ends all sessions.
	PathEndSessions = "/end-sessions"
)
