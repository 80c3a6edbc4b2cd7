// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"sync/atomic"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// siteAttempt is one reconciliation of a site.
type siteAttempt struct {
	infra *extensionsv1alpha1.Infrastructure
	site  *site.Site
	// earlier is what the last one came to, nil if that is nothing.
	earlier *v1alpha1.SiteStatus
	// mustSucceed is true if the site has to be asked whatever happened before.
	mustSucceed bool
}

// reconcileSite returns what the site came to. That is what it came to earlier if the site does not answer and there was nothing to be
// done: gardenlet waits for an Infrastructure without error before it looks after machines, those of the other sites, too.
func (a *actuator) reconcileSite(ctx context.Context, log logr.Logger, part platform.Infrastructure, t *siteAttempt, writer *statusWriter) (*v1alpha1.SiteStatus, error) {
	wanted, err := wantedOf(t.site)
	if err != nil {
		return nil, err
	}
	var changed atomic.Bool
	persist := writer.persist()
	status, err := part.Reconcile(ctx, t.site, func(ctx context.Context, state *v1alpha1.SiteState) error {
		if !equality.Semantic.DeepEqual(state, writer.stateOf(t.site.Name)) {
			changed.Store(true)
		}
		return persist(ctx, state)
	})
	switch {
	case err == nil:
		status.Reconciled = wanted
		return status, nil
	case t.mustSucceed, t.earlier == nil, t.earlier.Reconciled != wanted, changed.Load(), platform.ClassOf(err) != platform.ClassTransient, platform.IsProgress(err):
		return nil, err
	}
	log.Error(err, "The site cannot be reached, it stays as it is", "site", t.site.Name)
	a.events.Warn(t.infra, reasonSiteStays, eventnote.OnSite(actionReconcile, t.site.Name),
		"site %q cannot be reached and stays as it is, nothing about it has changed: %v", t.site.Name, err)
	return t.earlier, nil
}

// wantedOf is another one if anything changed that decides what is made at the site. Other credentials change nothing there.
func wantedOf(s *site.Site) (string, error) {
	return fingerprintOf(struct {
		Profile      *v1alpha1.CloudProfileSite
		Config       *v1alpha1.InfrastructureSite
		Network      site.Network
		SSHPublicKey []byte
	}{s.Profile, s.Config, s.Network, s.SSHPublicKey})
}
