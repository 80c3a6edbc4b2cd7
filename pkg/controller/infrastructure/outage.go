// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"sync"
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
	// invalid is what is wrong with its configuration.
	invalid error
	lookUp  lookUp
	// restoring is true if the site has to be asked whatever happened before, and not for mistakes.
	restoring bool

	stay   *problems
	result *result
	writer *statusWriter
	// begun is done as soon as something changes at the site.
	begun    sync.Once
	beginErr error
	changed  atomic.Bool
}

// reconcileSite returns what the site came to. That is what it came to earlier if the site fails and there was nothing to be done:
// gardenlet waits for an Infrastructure without error before it looks after machines, those of the other sites, too.
func (a *actuator) reconcileSite(ctx context.Context, log logr.Logger, part platform.Infrastructure, t *siteAttempt) (*v1alpha1.SiteStatus,
	error) {
	wanted, err := wantedOf(t.site)
	if err != nil {
		return nil, err
	}
	status, err := a.try(ctx, log, part, t, wanted)
	switch {
	case err == nil:
		status.Reconciled = wanted
		return status, nil
	case t.restoring, t.earlier == nil, t.earlier.Reconciled != wanted, t.changed.Load(), platform.IsProgress(err), errors.Is(ctx.Err(),
		context.Canceled):
		return nil, err
	}
	t.stay.add(platform.InSite(t.site.Name, err))
	log.Error(err, "The site fails and stays as it is", "site", t.site.Name, "class", platform.ClassOf(err))
	a.events.Warning(t.infra, reasonSiteStays, eventnote.OnSite(actionReconcile, t.site.Name),
		"site %q fails and stays as it is, nothing about it has changed: %v", t.site.Name, err)
	return t.earlier, nil
}

func (a *actuator) try(ctx context.Context, log logr.Logger, part platform.Infrastructure, t *siteAttempt,
	wanted string) (*v1alpha1.SiteStatus, error) {
	if t.invalid != nil {
		return nil, t.invalid
	}
	if t.earlier != nil {
		t.lookUp.validated = t.earlier.Validated
	}
	if !t.restoring {
		var err error
		if t.lookUp.validated, err = a.lookForMistakes(ctx, log, part, &t.lookUp); err != nil {
			return nil, err
		}
	}
	if t.earlier != nil && t.earlier.Reconciled != wanted {
		if err := t.begin(ctx); err != nil {
			return nil, err
		}
	}
	status, err := part.Reconcile(ctx, t.site, t.persist())
	if err != nil {
		return nil, err
	}
	status.Validated = t.lookUp.validated
	return status, nil
}

// persist returns how the site writes its state. That it changes is written before.
func (t *siteAttempt) persist() platform.Persist {
	persist := t.writer.persist()
	return func(ctx context.Context, state *v1alpha1.SiteState) error {
		if !equality.Semantic.DeepEqual(state, t.writer.stateOf(t.site.Name)) {
			if err := t.begin(ctx); err != nil {
				return err
			}
		}
		return persist(ctx, state)
	}
}

// begin writes that the site has to be reconciled until that succeeds.
func (t *siteAttempt) begin(ctx context.Context) error {
	t.begun.Do(func() {
		t.changed.Store(true)
		if t.earlier != nil && t.earlier.Reconciled != "" {
			status := t.earlier.DeepCopy()
			status.Reconciled = ""
			t.beginErr = t.writer.writeResult(ctx, t.result, status)
		}
	})
	return t.beginErr
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
