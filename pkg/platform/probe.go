// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Probe asks a site one cheap question with the shoot's credentials. The site health controller uses it.
type Probe interface {
	// Probe returns nil if the site answers the shoot and has room for it, as far as one question tells. It sends one request beside
	// those of a login where there is none. Errors are classified; ClassQuota names what is used up. The room is what the answer
	// tells of it, also if there is an error; some platforms tell nothing.
	Probe(ctx context.Context, s *site.Site) (Room, error)
}

// Room is what a site tells of its room for machines.
type Room struct {
	// Quotas are those of the shoot's account.
	Quotas []Quota
	// Capacities are those of zones.
	Capacities []Capacity
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
