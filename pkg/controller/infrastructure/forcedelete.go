// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// ForceDelete deletes what can be deleted, tells what is left by status, events and log, and succeeds, because the deletion of
// the shoot must not wait for a site that is gone.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	input, _, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err != nil {
		log.Error(err, "Force deletion goes on with what it could read")
	}
	d := a.deleteSites(ctx, log, infra, cluster, input)

	var orphans []v1alpha1.Orphan
	for i, left := range a.orphans(ctx, d) {
		if len(left) > 0 {
			a.tellOrphans(log, infra, d.sites[i].Name, left)
			orphans = append(orphans, left...)
		}
	}
	for _, s := range unresolvedSites(d) {
		left := knownOrphans(s, d.resolveErr)
		a.tellOrphans(log, infra, s.Name, left)
		orphans = append(orphans, left...)
	}
	if len(orphans) > 0 {
		if err := d.writer.writeOrphans(ctx, readStatus(infra), orphans); err != nil {
			log.Error(err, "The orphans could not be written into the status", "orphans", orphans)
		}
	}
	return nil
}

// orphans asks all sites at the same time what is left in them, and returns it in the order of the sites.
func (a *actuator) orphans(ctx context.Context, d *deletion) [][]v1alpha1.Orphan {
	left := make([][]v1alpha1.Orphan, len(d.sites))
	platform.Each(len(d.sites), func(i int) error {
		if d.untouched[i] {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, a.lookUpTimeout)
		defer cancel()
		found, err := platform.Safely(func() ([]v1alpha1.Orphan, error) { return a.orphansOf(ctx, &d.sites[i]) })
		for _, o := range found {
			if o.Reason == "" && d.errs[i] != nil {
				o.Reason = d.errs[i].Error()
			}
			left[i] = append(left[i], o)
		}
		if err == nil || d.errs[i] == nil {
			return nil
		}
		state := v1alpha1.SiteState{Name: d.sites[i].Name}
		if known := d.writer.stateOf(state.Name); known != nil {
			state = *known
		}
		for _, o := range knownOrphans(state, err) {
			if !slices.ContainsFunc(left[i], func(f v1alpha1.Orphan) bool { return f.Kind == o.Kind && f.ID == o.ID }) {
				left[i] = append(left[i], o)
			}
		}
		return nil
	})
	return left
}

func (a *actuator) orphansOf(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error) {
	part, err := a.platforms.For(s.Platform)
	if err != nil {
		return nil, err
	}
	return part.Orphans(ctx, s)
}

// knownOrphans are the objects of a site that cannot be looked at, as the state knows them, or the site itself if it knows
// none.
func knownOrphans(state v1alpha1.SiteState, reason error) []v1alpha1.Orphan {
	orphans := state.Objects()
	if len(orphans) == 0 {
		orphans = []v1alpha1.Orphan{{Site: state.Name, Kind: "site"}}
	}
	for i := range orphans {
		orphans[i].Reason = reason.Error()
	}
	return orphans
}

// unresolvedSites are those of the state that the deletion did not come to.
func unresolvedSites(d *deletion) []v1alpha1.SiteState {
	return slices.DeleteFunc(slices.Clone(d.writer.state.Sites), func(s v1alpha1.SiteState) bool { return site.Find(d.sites, s.Name) != nil })
}

func (a *actuator) tellOrphans(log logr.Logger, infra *extensionsv1alpha1.Infrastructure, name string, orphans []v1alpha1.Orphan) {
	texts := make([]string, len(orphans))
	for i, o := range orphans {
		texts[i] = fmt.Sprintf("%s %s", o.Kind, o.ID)
		if o.Name != "" {
			texts[i] += fmt.Sprintf(" (%s)", o.Name)
		}
	}
	log.Info("Force deletion leaves objects behind", "site", name, "orphans", orphans)
	a.events.Warning(infra, reasonOrphansLeft, eventnote.OnSite(actionDelete, name), "site %q: %d left behind: %s", name, len(orphans),
		eventnote.List(texts))
}
