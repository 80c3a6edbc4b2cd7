// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// PreflightTimeout is the time that each site has for its checks.
const PreflightTimeout = lookUpTimeout

// PreflightRequest is what the checks of the sites of a shoot are made for.
type PreflightRequest struct {
	// Cluster has the Shoot and the CloudProfile as they will be.
	Cluster *extensionscontroller.Cluster
	// Infrastructure is that of the shoot, nil if it does not exist or is not known.
	Infrastructure *extensionsv1alpha1.Infrastructure
	// Secret is that of the shoot.
	Secret *corev1.Secret
	// Platforms are the platforms.
	Platforms platform.Registry[platform.Infrastructure]
	// Options are those of the checks that concern no single platform.
	Options preflight.Options
	// Reports are the reports of probes by the names of their sites.
	Reports map[string]*preflight.Report
	// Skip are the IDs of checks that are not made.
	Skip []string
	// Timeout is the time that each site has for its checks.
	Timeout time.Duration
}

// Preflight is the result of the checks of the sites of a shoot.
type Preflight struct {
	// Sites are the results of the sites that the shoot uses.
	Sites []SitePreflight
	// Pairs are the results of the pairs of sites.
	Pairs []preflight.Pair
	// Err is why sites are missing in Sites, and what is wrong with their configuration.
	Err error
}

// SitePreflight is the result of the checks of a site.
type SitePreflight struct {
	// Name is the name of the site.
	Name string
	// Platform is the platform of the site.
	Platform v1alpha1.Platform
	// Findings are the result.
	Findings platform.Findings
}

// NewPreflight makes the checks that the controller makes before it reconciles sites, all sites in parallel. It returns an error where the
// controller does not begin with any site.
func NewPreflight(ctx context.Context, request PreflightRequest) (*Preflight, error) {
	prepared, err := prepare(ctx, request)
	if err != nil {
		return nil, err
	}
	input, sites, demands, invalid, resolveErr := prepared.input, prepared.sites, prepared.demands, prepared.invalid, prepared.resolveErr
	p := &preflights{common: prepared.common, timeout: request.Timeout}

	result := &Preflight{Sites: make([]SitePreflight, len(sites))}
	errs := []error{resolveErr}
	for _, s := range sites {
		errs = append(errs, platform.InSite(s.Name, invalid[s.Name]))
	}
	errs = append(errs, platform.Each(len(sites), func(i int) error {
		s := &sites[i]
		part, err := request.Platforms.For(s.Platform)
		if err != nil {
			return platform.InSite(s.Name, err)
		}
		ctx, cancel := context.WithTimeout(ctx, request.Timeout)
		defer cancel()
		of := validationRequest(request.Cluster, input, s, demands)
		of.Skip = request.Skip
		_, _ = p.check(ctx, s.Name, of.Skip, func() (platform.Findings, error) { return part.Validate(ctx, s, of) })
		return nil
	})...)
	for i, s := range sites {
		result.Sites[i] = SitePreflight{Name: s.Name, Platform: s.Platform, Findings: located(&sites[i], p.results[s.Name].Findings)}
	}
	ctx, cancel := context.WithTimeout(ctx, request.Timeout)
	defer cancel()
	result.Pairs = p.common.Pairs(ctx, request.Skip)
	result.Err = errors.Join(errs...)
	return result, nil
}

// ProbeScript returns the script that reports what hosts in the network of the site see. It needs no credentials.
func ProbeScript(ctx context.Context, request PreflightRequest, name string, registries []string) (string, error) {
	prepared, err := prepare(ctx, request)
	if err != nil {
		return "", err
	}
	targets := preflight.Targets{Registries: registries}
	for _, address := range request.Cluster.Shoot.Status.AdvertisedAddresses {
		if address.Name == v1beta1constants.AdvertisedAddressExternal {
			targets.APIServer = address.URL
		}
	}
	return prepared.common.Script(name, targets)
}

// preparedPreflight is what the checks of the sites of a shoot are made with.
type preparedPreflight struct {
	input   shootsites.Input
	sites   []site.Site
	demands map[string][]platform.Demand
	// invalid are the errors of the configuration by the names of the sites, and resolveErr is why sites are missing.
	invalid    map[string]error
	resolveErr error
	common     *preflight.Preflight
}

func prepare(ctx context.Context, request PreflightRequest) (*preparedPreflight, error) {
	shoot := PlanRequest{Cluster: request.Cluster, Infrastructure: request.Infrastructure, Secret: request.Secret}
	infra := desired(shoot)
	input, configErr, err := shootsites.Read(ctx, planReader{shoot}, shootsites.OfInfrastructure(infra), request.Cluster)
	if err = errors.Join(configErr, err); err != nil {
		return nil, err
	}
	invalid, err := validate(input, infra, request.Cluster)
	if err != nil {
		return nil, err
	}
	resolved, resolveErr := resolve(input, infra)
	p := &preparedPreflight{
		input:      input,
		sites:      slices.DeleteFunc(slices.Clone(resolved), func(s site.Site) bool { return s.Removed() }),
		demands:    demands(request.Cluster, input.Profile, infra.Spec.Region),
		invalid:    invalid,
		resolveErr: resolveErr,
	}
	common := preflightShoot(request.Cluster, input, p.sites, p.demands, readStatus(infra))
	common.Reports = request.Reports
	p.common = preflight.New(common, request.Options)
	return p, nil
}

// located returns the findings with a field for checks that could not be made: an error says what the site answered, and not where to look.
func located(s *site.Site, findings platform.Findings) platform.Findings {
	for i := range findings.Found {
		found := &findings.Found[i]
		switch {
		case found.Field != "" || found.Err == nil:
		case found.Class == platform.ClassUnauthenticated:
			found.Field = s.SecretPath("*").String()
		default:
			found.Field = s.ProfilePath().String()
		}
	}
	return findings
}

// validationRequest returns what the site is validated for.
func validationRequest(cluster *extensionscontroller.Cluster, input shootsites.Input, s *site.Site,
	demands map[string][]platform.Demand) platform.ValidationRequest {
	index := slices.IndexFunc(input.Config.Sites, func(c v1alpha1.InfrastructureSite) bool { return c.Name == s.Name })
	return platform.ValidationRequest{Path: sitePath(index), Demands: demands[s.Name], ControlPlane: controlPlaneSite(cluster, s.Name)}
}

// preflightShoot returns what the checks that concern no single platform need.
func preflightShoot(cluster *extensionscontroller.Cluster, input shootsites.Input, sites []site.Site,
	demands map[string][]platform.Demand, status *v1alpha1.InfrastructureStatus) preflight.Shoot {
	shoot := preflight.Shoot{Config: input.Config, ConfigPath: configPath, Sites: sites, Demands: demands, Status: status}
	if cluster.Shoot != nil {
		shoot.Networking = cluster.Shoot.Spec.Networking
	}
	if cluster.Seed != nil {
		shoot.Seed = &cluster.Seed.Spec.Networks
	}
	return shoot
}

// preflights makes the checks of sites and collects their results. Sites use it concurrently.
type preflights struct {
	// common are the checks that concern no single platform, nil if these are not made.
	common  *preflight.Preflight
	timeout time.Duration

	mutex sync.Mutex
	// results are the results by the names of the sites.
	results map[string]preflightResult
}

// preflightResult is the result of the checks of a site, or of all pairs of sites.
type preflightResult struct {
	platform.Findings
	// err is why checks could not be made.
	err error
}

// check makes the checks of a site: those of its platform, whose result it returns, and the others, which never stop the site.
func (p *preflights) check(ctx context.Context, name string, skip []string,
	ofPlatform func() (platform.Findings, error)) (platform.Findings, error) {
	parts := []func() (platform.Findings, error){ofPlatform}
	if p.common != nil {
		parts = append(parts, func() (platform.Findings, error) { return p.common.Site(ctx, name, skip) })
	}
	var (
		found = make([]platform.Findings, len(parts))
		errs  = platform.Each(len(parts), func(i int) (err error) {
			found[i], err = parts[i]()
			return err
		})
		all platform.Findings
	)
	for i := range found {
		all = all.Add(found[i])
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.results == nil {
		p.results = map[string]preflightResult{}
	}
	p.results[name] = preflightResult{all, errors.Join(errs...)}
	return found[0], errs[0]
}

// checkPairs makes the checks of all pairs of sites if a site was checked. It returns nil otherwise.
func (p *preflights) checkPairs(ctx context.Context) *preflightResult {
	if p.common == nil || len(p.results) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	all := &preflightResult{}
	for _, pair := range p.common.Pairs(ctx, nil) {
		for i := range pair.Findings.Found {
			found := &pair.Findings.Found[i]
			found.Field, found.Is = "", fmt.Sprintf("sites %s: %s", pair, found.Message())
		}
		all.Findings, all.err = all.Add(pair.Findings), errors.Join(all.err, pair.Err)
	}
	return all
}

// write returns the conditions with that of all pairs of sites, or without it if there is no pair.
func (r *preflightResult) write(clock clock.Clock, conditions []gardencorev1beta1.Condition) []gardencorev1beta1.Condition {
	switch {
	case r == nil:
		return conditions
	case len(r.Checks) == 0:
		return v1beta1helper.RemoveConditions(conditions, v1alpha1.ConditionSitePairsPreflight)
	default:
		return r.merge(clock, conditions, v1alpha1.ConditionSitePairsPreflight)
	}
}

// merge returns the conditions with the one of the type.
func (r *preflightResult) merge(clock clock.Clock, conditions []gardencorev1beta1.Condition,
	conditionType gardencorev1beta1.ConditionType) []gardencorev1beta1.Condition {
	status, reason, message := r.verdict()
	condition := v1beta1helper.GetOrInitConditionWithClock(clock, conditions, conditionType)
	return v1beta1helper.MergeConditions(conditions, v1beta1helper.UpdatedConditionWithClock(clock, condition, status, reason, message,
		errorcodes.Codes(errors.Join(r.Err(), r.err))...))
}

// write returns the conditions with those of the sites that were validated, and without those of sites that no longer exist.
func (p *preflights) write(clock clock.Clock, conditions []gardencorev1beta1.Condition,
	sites []site.Site) []gardencorev1beta1.Condition {
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(condition gardencorev1beta1.Condition) bool {
		name, ok := strings.CutPrefix(string(condition.Type), v1alpha1.ConditionSitePreflightPrefix)
		return ok && !slices.ContainsFunc(sites, func(s site.Site) bool { return s.Name == name && !s.Removed() })
	})
	for _, name := range slices.Sorted(maps.Keys(p.results)) {
		result := p.results[name]
		conditions = result.merge(clock, conditions, gardencorev1beta1.ConditionType(v1alpha1.ConditionSitePreflightPrefix+name))
	}
	return conditions
}

// verdict returns what the condition says: failures first, then checks that could not be made, then warnings.
func (r *preflightResult) verdict() (status gardencorev1beta1.ConditionStatus, reason, message string) {
	var messages []string
	status, reason = gardencorev1beta1.ConditionTrue, v1alpha1.ReasonPreflightPassed
	if r.err != nil {
		status, reason = gardencorev1beta1.ConditionProgressing, v1alpha1.ReasonPreflightIncomplete
	}
	for _, state := range []platform.CheckState{platform.Failed, platform.Unknown, platform.Warning} {
		for i := range r.Found {
			found := &r.Found[i]
			if found.State != state || found.Cause != "" {
				continue
			}
			messages = append(messages, found.Check.ID+": "+found.Message())
			switch {
			case state == platform.Failed:
				status, reason = gardencorev1beta1.ConditionFalse, v1alpha1.ReasonPreflightFailed
			case state == platform.Unknown && status == gardencorev1beta1.ConditionTrue:
				status, reason = gardencorev1beta1.ConditionProgressing, v1alpha1.ReasonPreflightIncomplete
			}
		}
	}
	if len(messages) == 0 && r.err != nil {
		return status, reason, eventnote.Shorten(r.err.Error())
	}
	if len(messages) == 0 {
		return status, reason, fmt.Sprintf("All %d checks are fine.", len(r.Checks))
	}
	return status, reason, eventnote.Shorten(strings.Join(messages, "; "))
}
