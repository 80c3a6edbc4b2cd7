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
	// those of a login where there is none. Errors are classified; ClassQuota names what is used up.
	Probe(ctx context.Context, s *site.Site) error
}
