// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Delete deletes all sites of the shoot in parallel.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	input, _, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	d := a.deleteSites(ctx, log, infra, cluster, input, a.deleteSite)
	return errorcodes.WithCodes(errors.Join(append([]error{unresolved(d.resolveErr)}, d.errs...)...))
}

// ForceDelete deletes the sites, best effort, and reports what is left in the status, events and log. It always succeeds, because the
// deletion of the shoot must not wait for unavailable sites.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	input, _, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err != nil {
		log.Error(err, "Forced deletion continues with what could be read")
	}
	d := a.deleteSites(ctx, log, infra, cluster, input, a.deleteSiteToTheEnd)

	var orphans []v1alpha1.Orphan
	report := func(name string, left []v1alpha1.Orphan) {
		if len(left) > 0 {
			a.reportOrphans(log, infra, name, left)
			orphans = append(orphans, left...)
		}
	}
	for i, left := range a.orphans(ctx, d) {
		report(d.sites[i].Name, left)
	}
	for _, s := range d.writer.state.Sites {
		if site.Find(d.sites, s.Name) == nil {
			report(s.Name, knownOrphans(s, d.resolveErr))
		}
	}
	if len(orphans) > 0 {
		if err := d.writer.writeOrphans(ctx, readStatus(infra), orphans); err != nil {
			log.Error(err, "Orphans could not be written into the status", "orphans", orphans)
		}
	}
	return nil
}

// deletion is the result of a deletion.
type deletion struct {
	sites []site.Site
	// resolveErr is the reason why some sites are missing in sites.
	resolveErr error
	// errs are the errors of the sites, nil if they are deleted.
	errs []error
	// untouched is true for sites that never had any objects.
	untouched []bool
	writer    *statusWriter
}

// siteDeletion deletes a site. The error is progress if the site is still deleting.
type siteDeletion func(ctx context.Context, s *site.Site, writer *statusWriter) error

func (a *actuator) deleteSites(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster, input shootsites.Input, deleteSite siteDeletion) *deletion {
	var (
		d       = &deletion{writer: &statusWriter{client: a.client, infra: infra, state: input.State}}
		earlier = readStatus(infra)
	)
	infra = infra.DeepCopy() // The writer changes the object while the sites read it.
	d.sites, d.resolveErr = resolveForDeletion(log, input.Input)
	d.untouched = make([]bool, len(d.sites))
	d.errs = a.forEach(ctx, log, infra, d.sites, func(ctx context.Context, i int) error {
		s := &d.sites[i]
		err := deleteSite(ctx, s, d.writer)
		if neverReached(err) && s.State == nil && findStatus(earlier, s.Name) == nil && !wasReady(cluster, s) {
			// The state is written before the first object is created.
			log.Info("The site has no objects, because it was never accessible", "site", s.Name, "reason", err.Error())
			d.untouched[i] = true
			return nil
		}
		return err
	})
	return d
}

// resolveForDeletion resolves as many sites as possible. The objects are in the state, so sites with an invalid configuration are resolved
// from the state alone.
func resolveForDeletion(log logr.Logger, input site.Input) ([]site.Site, error) {
	sites, err := site.Resolve(input)
	if err == nil {
		return sites, nil
	}
	log.Error(err, "Sites with an invalid configuration are deleted by their state")
	input.Config = nil
	known, err := site.Resolve(input)
	for _, s := range known {
		if site.Find(sites, s.Name) == nil {
			sites = append(sites, s)
		}
	}
	return sites, err
}

// neverReached returns whether the site is not accessible until its configuration changes. It returns false for errors after the login,
// because then there may be objects whose state was lost.
func neverReached(err error) bool {
	class := platform.ClassOf(err)
	return errors.Is(err, platform.ErrNoAccess) && (class == platform.ClassUnauthenticated || class == platform.ClassConfiguration)
}

// wasReady returns whether an Infrastructure with the site has ever been ready: gardenlet then copies the node network to the status of the
// Shoot, which survives the loss of the state in a migration.
func wasReady(cluster *extensionscontroller.Cluster, s *site.Site) bool {
	if cluster.Shoot == nil || cluster.Shoot.Status.Networking == nil || s.Config == nil {
		return false
	}
	ready := cluster.Shoot.Status.Networking.Nodes
	if s.Network.Topology == v1alpha1.TopologyStretched {
		return len(ready) > 0
	}
	return slices.ContainsFunc(s.Config.Nodes, func(cidr string) bool { return slices.Contains(ready, cidr) })
}

func (a *actuator) deleteSite(ctx context.Context, s *site.Site, writer *statusWriter) error {
	part, err := a.platforms.For(s.Platform)
	if err != nil {
		return fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	if err := part.Delete(ctx, s, writer.persist); err != nil {
		return err
	}
	return writer.forget(ctx, s.Name)
}

// deleteSiteToTheEnd waits for a site that is still deleting, because a forced deletion is not repeated. It returns the last progress if
// the site is not done in time.
func (a *actuator) deleteSiteToTheEnd(ctx context.Context, s *site.Site, writer *statusWriter) error {
	var last error
	_ = wait.PollUntilContextCancel(ctx, a.progressInterval, true, func(ctx context.Context) (bool, error) {
		if err := a.deleteSite(ctx, s, writer); err == nil || ctx.Err() == nil || last == nil {
			last = err
		}
		return !platform.IsProgress(last), nil
	})
	return last
}

// orphans returns the objects that are left at each site. For sites that cannot be accessed they include those of the state.
func (a *actuator) orphans(ctx context.Context, d *deletion) [][]v1alpha1.Orphan {
	left := make([][]v1alpha1.Orphan, len(d.sites))
	platform.Each(len(d.sites), func(i int) error {
		if d.untouched[i] {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, a.lookUpTimeout)
		defer cancel()
		found, err := platform.Safely(func() ([]v1alpha1.Orphan, error) {
			part, err := a.platforms.For(d.sites[i].Platform)
			if err != nil {
				return nil, err
			}
			return part.Orphans(ctx, &d.sites[i])
		})
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

// knownOrphans returns the objects in the state of a site that cannot be accessed, or the site itself if there are none.
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

func (a *actuator) reportOrphans(log logr.Logger, infra *extensionsv1alpha1.Infrastructure, name string, orphans []v1alpha1.Orphan) {
	texts := make([]string, len(orphans))
	for i, o := range orphans {
		texts[i] = fmt.Sprintf("%s %s", o.Kind, o.ID)
		if o.Name != "" {
			texts[i] += fmt.Sprintf(" (%s)", o.Name)
		}
	}
	log.Info("Forced deletion left objects behind", "site", name, "orphans", orphans)
	a.events.Warning(infra, reasonOrphansLeft, eventnote.OnSite(actionDelete, name), "site %q: %d left behind: %s", name, len(orphans),
		eventnote.List(texts))
}
