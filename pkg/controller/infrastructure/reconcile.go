// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

func (a *actuator) reconcile(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster, restoring bool) error {
	// No cache is read: credentials that were just rotated must not be missed, because nothing starts another reconciliation when it has them.
	input, configErr, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err = errors.Join(configErr, err); err != nil {
		return errorcodes.WithCodes(err)
	}
	invalid := validate(input, infra, cluster)
	if invalid.whole != nil {
		return errorcodes.WithCodes(invalid.whole)
	}
	sites, resolveErr := site.Resolve(input.Input)
	for i := range sites {
		sites[i].SSHPublicKey = infra.Spec.SSHPublicKey
	}

	writer := &statusWriter{client: a.client, infra: infra, state: input.State}
	infra = infra.DeepCopy() // The writer changes the object while the sites read it.
	var (
		result    = &result{config: input.Config, cluster: cluster, earlier: readStatus(infra), ready: map[string]*v1alpha1.SiteStatus{}}
		demands   = demands(cluster, input.Profile, infra.Spec.Region)
		removals  = &removals{actuator: a, infra: infra, cluster: cluster, profile: input.Profile, moving: restoring || moves(cluster)}
		stay      = &problems{}
		siteIndex = func(name string) int {
			return slices.IndexFunc(input.Config.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == name })
		}
	)
	errs := a.forEach(ctx, log, infra, sites, func(ctx context.Context, s *site.Site) error {
		if s.Removed() {
			return removals.remove(ctx, log, s, writer)
		}
		part, err := a.platforms.For(s.Platform)
		if err != nil {
			return err
		}
		earlier := findStatus(result.earlier, s.Name)
		status, err := a.reconcileSite(ctx, log, part, &siteAttempt{
			infra: infra, site: s, earlier: earlier, invalid: invalid.sites[s.Name], restoring: restoring, result: result, writer: writer, stay: stay,
			lookUp: lookUp{infra: infra, site: s, path: sitePath(siteIndex(s.Name)), demands: demands[s.Name], secretVersion: input.SecretVersion},
		})
		if err != nil || status == earlier {
			return err
		}
		if earlier == nil {
			a.events.Normal(infra, reasonSiteReady, eventnote.OnSite(actionReconcile, s.Name), "site %q is ready for machines", s.Name)
		}
		return writer.writeResult(ctx, result, status)
	})

	errs = append(errs, removals.report(ctx, writer), writer.writeResult(ctx, result, nil),
		writer.writeCondition(ctx, a.clock, v1alpha1.ConditionSitesReconciled, v1alpha1.ReasonSitesStay, stay.messages(), stay.errs))
	return errorcodes.WithCodes(errors.Join(append([]error{unresolved(resolveErr)}, errs...)...))
}

// unresolved is the error of sites that cannot be resolved.
func unresolved(err error) error {
	if err == nil {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "%w", err)
}

// forEach does something with all sites at the same time, each with its own deadline, and returns their errors in the order of
// the sites. An event tells of every site that failed.
func (a *actuator) forEach(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, sites []site.Site,
	do func(context.Context, *site.Site) error) []error {
	return platform.Each(len(sites), func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, a.siteTimeout)
		defer cancel()

		s := &sites[i]
		err := platform.InSite(s.Name, platform.Try(func() error { return do(ctx, s) }))
		if err != nil {
			log.Error(err, "Site failed", "site", s.Name, "class", platform.ClassOf(err))
			a.events.Warning(infra, reasonSiteFailed, eventnote.OnSite(actionReconcile, s.Name), "%v", err)
		}
		return err
	})
}
