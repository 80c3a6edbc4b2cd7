// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Infrastructure makes and removes what a site needs before it can have machines. The Infrastructure controller uses it.
type Infrastructure interface {
	// Reconcile creates, adopts and updates the site's objects. It calls persist with the state after every created object,
	// and stops if persist fails. Errors are classified.
	Reconcile(ctx context.Context, s *site.Site, persist Persist) (*v1alpha1.SiteStatus, error)
	// Delete deletes the site's objects that are ours, also those that the state does not know, and calls persist with the
	// state after every deleted object. Errors are classified, and wrap ErrNoAccess if the site could not be looked at at all.
	Delete(ctx context.Context, s *site.Site, persist Persist) error
}

// ErrNoAccess means that a site could not be looked at, because it does not accept the credentials or is not reached with the
// configuration.
var ErrNoAccess = errors.New("no access")

// Persist writes the state of one site.
type Persist func(ctx context.Context, state *v1alpha1.SiteState) error
