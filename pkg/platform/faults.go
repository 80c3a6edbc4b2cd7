// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Faults tells what becomes of machines after machine-controller-manager has asked for them for the last time. Only platforms
// have it whose machines can be at fault for reasons that their nodes cannot tell. The health check uses it.
type Faults interface {
	// Watch calls changed with all faults of the shoot's machines on the site: at the beginning, and whenever they changed. It
	// returns when ctx ends, or with a classified error if the site cannot be watched.
	Watch(ctx context.Context, s *site.Site, changed func([]Fault)) error
}

// Fault is what is wrong with a machine.
type Fault struct {
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
