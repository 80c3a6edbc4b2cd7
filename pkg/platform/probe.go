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
	// those of a login where there is none. Errors are classified; ClassQuota names what is used up. The quotas are those that the
	// answer has, also if there is an error; a platform whose answer has none returns none.
	Probe(ctx context.Context, s *site.Site) ([]Quota, error)
}

// Resource is what a quota is about.
type Resource string

// Resources that have quotas.
const (
	// ResourceServers are servers.
	ResourceServers Resource = "servers"
	// ResourceCores are processor cores of servers.
	ResourceCores Resource = "cores"
	// ResourceMemory is the memory of servers, in bytes.
	ResourceMemory Resource = "memory_bytes"
)

// Quota is how much of a resource a site allows to all who share the shoot's account there. There is none for what has no limit.
type Quota struct {
	Resource Resource
	// Used is how much all of them together have.
	Used float64
	// Limit is how much they may have.
	Limit float64
}
