// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Probe asks a site how it is with the shoot's credentials. The site health controller uses it.
type Probe interface {
	// Probe returns nil if the site answers the shoot and has room for it. It sends as few requests as it can beside those of a login
	// where there is none, because each site is asked again and again. Errors are classified; ClassQuota names what is used up. The
	// observation is what the answer tells, also if there is an error. shoots are the technical IDs of those that share the credentials.
	Probe(ctx context.Context, s *site.Site, shoots []string) (Observation, error)
}

// FaultReporter is implemented by probes whose observations have faults: those of platforms whose machines can be at fault for reasons
// that their nodes cannot report.
type FaultReporter interface {
	Probe
	// ReportsFaults is a marker and does nothing.
	ReportsFaults()
}

// Observation is what a site tells of itself. Some platforms tell only a part of it.
type Observation struct {
	// Quotas are those of the shoot's account.
	Quotas []Quota
	// Capacities are those of zones.
	Capacities []Capacity
	// Faults are those of the shoots' machines on the site.
	Faults []Fault
}

// Fault is what is wrong with a machine.
type Fault struct {
	// Shoot is the technical ID of the machine's shoot.
	Shoot string
	// Machine is the name of the machine.
	Machine string
	// Host is what the site calls what the machine runs on.
	Host string
	// Message is the site's own message.
	Message string
}

// String returns what is wrong behind the names of host and machine.
func (f Fault) String() string {
	return fmt.Sprintf("host %s of machine %s: %s", f.Host, f.Machine, f.Message)
}

// Resource is what a quota or a capacity is about.
type Resource string

// Resources that sites have or allow.
const (
	// ResourceServers are servers.
	ResourceServers Resource = "servers"
	// ResourceCores are processor cores of servers.
	ResourceCores Resource = "cores"
	// ResourceMemory is the memory of servers, in bytes.
	ResourceMemory Resource = "memory_bytes"
	// ResourceCPU is the clock rate of all cores together, in Hz.
	ResourceCPU Resource = "cpu_hertz"
	// ResourceStorage is the space for disks, in bytes.
	ResourceStorage Resource = "storage_bytes"
)

// Quota is how much of a resource a site allows to all who share the shoot's account there. There is none for what has no limit.
type Quota struct {
	Resource Resource
	// Used is how much all of them together have.
	Used float64
	// Limit is how much they may have.
	Limit float64
}

// Capacity is how much of a resource a zone has for all who use it.
type Capacity struct {
	Zone     string
	Resource Resource
	// Total is all that there is, used or not.
	Total float64
	// Free is what nobody uses.
	Free float64
}
