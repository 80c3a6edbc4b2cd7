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

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Delete deletes all sites of the shoot at the same time.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	input, _, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	d := a.deleteSites(ctx, log, infra, cluster, input)
	return errorcodes.WithCodes(errors.Join(append([]error{unresolved(d.resolveErr)}, d.errs...)...))
}

// deletion is what came of a deletion.
type deletion struct {
	sites []site.Site
	// resolveErr says why sites are not in sites.
	resolveErr error
	// errs are the errors of the sites, nil if they are gone.
	errs []error
	// untouched is true for sites that never had anything.
	untouched []bool
	writer    *statusWriter
}

func (a *actuator) deleteSites(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster, input shootsites.Input) *deletion {
	var (
		d       = &deletion{writer: &statusWriter{client: a.client, infra: infra, state: input.State}}
		earlier = readStatus(infra)
	)
	infra = infra.DeepCopy() // The writer changes the object while the sites read it.
	d.sites, d.resolveErr = resolveForDeletion(log, input.Input)
	d.untouched = make([]bool, len(d.sites))
	d.errs = a.forEach(ctx, log, infra, d.sites, func(ctx context.Context, s *site.Site) error {
		err := a.deleteSite(ctx, s, d.writer)
		if neverReached(err) && s.State == nil && findStatus(earlier, s.Name) == nil && !onceReady(cluster, s) {
			// The state is written before the first object is made.
			log.Info("Nothing was made in the site, as it was never reached", "site", s.Name, "reason", err.Error())
			d.untouched[slices.IndexFunc(d.sites, func(other site.Site) bool { return other.Name == s.Name })] = true
			return nil
		}
		return err
	})
	return d
}

// resolveForDeletion resolves what can be resolved. What exists stands in the state, so a configuration that cannot be
// resolved keeps nothing: its error is that of the state alone.
func resolveForDeletion(log logr.Logger, input site.Input) ([]site.Site, error) {
	sites, err := site.Resolve(input)
	if err == nil {
		return sites, nil
	}
	log.Error(err, "Sites that the configuration does not describe are deleted by their state")
	input.Config = nil
	known, err := site.Resolve(input)
	for _, s := range known {
		if site.Find(sites, s.Name) == nil {
			sites = append(sites, s)
		}
	}
	return sites, err
}

// neverReached reports whether an error says that the site cannot be looked at, and will not be without a change. Errors of
// anything after the login are not meant: then there may be objects whose state was lost.
func neverReached(err error) bool {
	class := platform.ClassOf(err)
	return errors.Is(err, platform.ErrNoAccess) && (class == platform.ClassUnauthenticated || class == platform.ClassConfiguration)
}

// onceReady reports whether an Infrastructure with the site was ready once, as the Shoot tells, also if its state was lost on the way to
// another seed: gardenlet copies the node network when it is.
func onceReady(cluster *extensionscontroller.Cluster, s *site.Site) bool {
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
	if err := part.Delete(ctx, s, writer.persist()); err != nil {
		return err
	}
	return writer.forget(ctx, s.Name)
}
