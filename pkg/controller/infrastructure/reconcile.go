// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"strings"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// configPath is the path of the InfrastructureConfig.
var configPath = field.NewPath("spec", "providerConfig")

func (a *actuator) reconcile(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster, restoring bool) error {
	r, err := a.reconcileSites(ctx, log, infra, cluster, restoring)
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	pairs := r.preflights.checkPairs(ctx)
	errs := append(r.errs, r.removals.report(ctx), r.writer.writeResult(ctx, r.result, nil),
		condition.Write(ctx, a.client, a.clock, r.writer.infra, v1alpha1.ConditionSitesReconciled, v1alpha1.ReasonSitesStay,
			r.retained.messages(), r.retained.errs()),
		condition.Update(ctx, a.client, r.writer.infra, func(conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
			return pairs.write(a.clock, r.preflights.write(a.clock, conditions, r.sites))
		}))
	return errorcodes.WithCodes(errors.Join(append([]error{unresolved(r.resolveErr)}, errs...)...))
}

// reconciliation is the result of a reconciliation of all sites.
type reconciliation struct {
	sites []site.Site
	// resolveErr is the reason why some sites are missing in sites.
	resolveErr error
	// errs are the errors of the sites, nil if they are reconciled.
	errs []error
	// retained are the errors of sites that are retained unchanged.
	retained *errorList
	// preflights are the results of the sites that were validated.
	preflights *preflights
	removals   *removals
	result     *result
	writer     *statusWriter
}

// resolve returns the sites, and an error for those that cannot be resolved.
func resolve(input shootsites.Input, infra *extensionsv1alpha1.Infrastructure) ([]site.Site, error) {
	sites, err := site.Resolve(input.Input)
	for i := range sites {
		sites[i].SSHPublicKey = infra.Spec.SSHPublicKey
	}
	return sites, err
}

func (a *actuator) reconcileSites(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster, restoring bool) (*reconciliation, error) {
	// The reader has no cache, because rotated credentials must not be missed: nothing triggers another reconciliation for them.
	input, configErr, err := shootsites.Read(ctx, a.reader, shootsites.OfInfrastructure(infra), cluster)
	if err = errors.Join(configErr, err); err != nil {
		return nil, err
	}
	invalid, err := validate(input, infra, cluster)
	if err != nil {
		return nil, err
	}
	r := &reconciliation{retained: &errorList{}, writer: &statusWriter{client: a.client, infra: infra, state: input.State}}
	r.sites, r.resolveErr = resolve(input, infra)

	infra = infra.DeepCopy() // The writer changes the object while the sites read it.
	r.result = &result{config: input.Config, cluster: cluster, earlier: readStatus(infra), ready: map[string]*v1alpha1.SiteStatus{}}
	demands := demands(cluster, input.Profile, infra.Spec.Region)
	r.preflights = &preflights{timeout: a.lookUpTimeout}
	if a.preflight != nil {
		r.preflights.common = preflight.New(preflightShoot(cluster, input, r.sites, demands, r.result.earlier), *a.preflight)
	}
	r.removals = &removals{actuator: a, infra: infra, cluster: cluster, profile: input.Profile, writer: r.writer,
		migrating: restoring || isMigrating(cluster)}
	r.errs = a.forEach(ctx, log, infra, r.sites, func(ctx context.Context, i int) error {
		s := &r.sites[i]
		if s.Removed() {
			return r.removals.remove(ctx, log, s)
		}
		part, err := a.platforms.For(s.Platform)
		if err != nil {
			return err
		}
		attempt := &siteAttempt{
			actuator: a, log: log, infra: infra, site: s, part: part, request: validationRequest(cluster, input, s, demands),
			secretVersion: input.SecretVersion, earlier: findStatus(r.result.earlier, s.Name), invalid: invalid[s.Name], restoring: restoring,
			cutOff: isCutOff(infra, s.Name), retained: r.retained, preflights: r.preflights, result: r.result, writer: r.writer,
		}
		status, err := attempt.reconcile(ctx)
		if err != nil || status == attempt.earlier {
			return err
		}
		if attempt.earlier == nil {
			a.events.Normal(infra, reasonSiteReady, eventnote.OnSite(actionReconcile, s.Name), "site %q is ready for machines", s.Name)
		}
		return r.writer.writeResult(ctx, r.result, status)
	})
	return r, nil
}

// unresolved returns the error of sites that cannot be resolved.
func unresolved(err error) error {
	if err == nil {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "%w", err)
}

// forEach calls do with the indexes of all sites in parallel, each with its own timeout, and returns the errors in the order of the sites.
// It writes an event for every site that failed.
func (a *actuator) forEach(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, sites []site.Site,
	do func(ctx context.Context, i int) error) []error {
	return platform.Each(len(sites), func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, a.siteTimeout)
		defer cancel()

		name := sites[i].Name
		err := platform.InSite(name, platform.Try(func() error { return do(ctx, i) }))
		if err != nil {
			log.Error(err, "Site failed", "site", name, "class", platform.ClassOf(err))
			a.events.Warning(infra, reasonSiteFailed, eventnote.OnSite(actionReconcile, name), "%v", err)
		}
		return err
	})
}

// validate validates the configuration, in case that the admission did not, or that the CloudProfile has changed since. It returns the
// errors of single sites by name, and an error that concerns all sites.
func validate(input shootsites.Input, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) (map[string]error, error) {
	var networking *gardencorev1beta1.Networking
	if cluster.Shoot != nil {
		networking = cluster.Shoot.Spec.Networking
	}
	var (
		whole  []error
		bySite = map[string][]error{}
	)
	for _, err := range validation.ValidateInfrastructureConfig(input.Config, input.Profile, networking, infra.Spec.Region, configPath) {
		if name, ok := siteOf(err, input.Config); ok {
			bySite[name] = append(bySite[name], err)
		} else {
			whole = append(whole, err)
		}
	}
	if len(whole) > 0 {
		return nil, &platform.Error{Class: platform.ClassConfiguration, Err: errors.Join(whole...)}
	}
	invalid := map[string]error{}
	for name, errs := range bySite {
		invalid[name] = &platform.Error{Class: platform.ClassConfiguration, Err: errors.Join(errs...)}
	}
	return invalid, nil
}

// siteOf returns the name of the site that the error concerns, and false if it concerns all sites.
func siteOf(err *field.Error, config *v1alpha1.InfrastructureConfig) (string, bool) {
	for i, s := range config.Sites {
		prefix := sitePath(i).String()
		if err.Field == prefix || strings.HasPrefix(err.Field, prefix+".") {
			return s.Name, true
		}
	}
	return "", false
}

// sitePath returns the path of the site with the index in the configuration.
func sitePath(i int) *field.Path {
	return configPath.Child("sites").Index(i)
}
