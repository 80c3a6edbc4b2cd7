// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Probe checks the health of a site with the shoot's credentials. The site health controller uses it.
type Probe interface {
	// Probe returns a nil error if the site answers and has capacity for the shoot. It sends as few requests as possible, because each site
	// is probed periodically. Errors are classified; an error of ClassQuota names the resource. The observation is also set if there is an
	// error. shoots are the technical IDs of the shoots that share the credentials.
	Probe(ctx context.Context, s *site.Site, shoots []string) (Observation, error)
}

// FaultReporter is implemented by probes whose observations have faults: those of platforms whose machines can be at fault for reasons
// that their nodes cannot report.
type FaultReporter interface {
	Probe
	// ReportsFaults is a marker and does nothing.
	ReportsFaults()
}

// Observation is what a site reports about itself. Platforms may set only some of the fields.
type Observation struct {
	// Quotas are the quotas of the shoot's account.
	Quotas []Quota
	// Capacities are the capacities of zones.
	Capacities []Capacity
	// Faults are the faults of the shoots' machines on the site.
	Faults []Fault
}

// Fault is a fault of a machine.
type Fault struct {
	// Shoot is the technical ID of the machine's shoot.
	Shoot string
	// Machine is the name of the machine.
	Machine string
	// Host is the site's name of the host of the machine.
	Host string
	// Message is the site's own message.
	Message string
}

// String returns the names of host and machine and the message.
func (f Fault) String() string {
	return fmt.Sprintf("host %s of machine %s: %s", f.Host, f.Machine, f.Message)
}

// Resource is the resource of a quota or a capacity.
type Resource string

// Resources of quotas and capacities.
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

// Noun returns the resource without its unit.
func (r Resource) Noun() string {
	noun, _, _ := strings.Cut(string(r), "_")
	return noun
}

// Quota is the limit of a resource for all users of the shoot's account. Resources without a limit have none.
type Quota struct {
	Resource Resource
	// Used is the usage of all of them.
	Used float64
	// Limit is the maximum usage.
	Limit float64
}

// Capacity is the amount of a resource in a zone.
type Capacity struct {
	Zone     string
	Resource Resource
	// Total is the total amount.
	Total float64
	// Free is the unused amount.
	Free float64
}
