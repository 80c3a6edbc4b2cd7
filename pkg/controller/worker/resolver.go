// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// reasonUnresolved is the reason of events about zones that cannot be resolved.
const reasonUnresolved = "ZoneUnresolved"

// resolver resolves the machines of zones at their sites.
type resolver struct {
	machineClasses platform.Registry[platform.MachineClasses]
	timeout        time.Duration
}

// resolved is a zone with its resolved machines.
type resolved struct {
	*zone

	machineType *v1alpha1.SiteMachineType
	image       *helper.MachineImage
	machineSpec *v1alpha1.MachineProviderSpec
	// providerSpec is the encoded machineSpec.
	providerSpec *runtime.RawExtension
	className    string
	// labels are the node labels of the platform.
	labels map[string]string
	// err is the reason why the zone cannot be resolved. The fields above may be empty then.
	err error
	// retained is the machine deployment of a zone that cannot be resolved, nil if it does not exist.
	retained *existing
}

// isUnchanged returns whether the zone cannot be resolved, but has the desired class, whose name is known without its site. That proves
// nothing for pools that are updated in place.
func (z *resolved) isUnchanged() bool {
	return z.err != nil && z.retained != nil && z.retained.className == z.className &&
		!v1beta1helper.IsUpdateStrategyInPlace(z.spec.UpdateStrategy)
}

// isTolerated returns whether the error of the zone does not fail the Worker: the zone needs no change, or waits for the end of a
// quarantine.
func (z *resolved) isTolerated() bool {
	return z.held || z.isUnchanged()
}

type answer = platform.Answer[*v1alpha1.MachineProviderSpec]

// resolve resolves all zones without an error in parallel. It returns after the timeout even if a platform ignores the context; its zones
// then have an error. Zones with an error retain their machine deployments.
func (r resolver) resolve(ctx context.Context, f *facts, zones []*zone) []*resolved {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	var (
		all     = make([]*resolved, len(zones))
		answers = make([]<-chan answer, len(zones))
	)
	for i, z := range zones {
		all[i] = &resolved{zone: z, err: z.planErr}
		if z.planErr == nil {
			answers[i], all[i].err = r.ask(ctx, f, all[i])
		}
	}
	for i, z := range all {
		if z.err == nil {
			a := r.await(ctx, answers[i])
			z.machineSpec, z.err = a.Value, a.Err
		}
		if z.err == nil {
			z.providerSpec, z.err = codec.Encode(z.machineSpec)
		}
		if z.err != nil {
			z.retained = z.existing
		}
		if z.planErr == nil {
			z.err = platform.InSite(z.siteName, z.err)
		}
	}
	return all
}

// describe adds what is known without the site to a zone, and returns the request that resolves it.
func (r resolver) describe(f *facts, z *resolved) (platform.MachineClassRequest, platform.MachineClasses, error) {
	request, image, err := request(f, z.zone)
	if err != nil {
		return request, nil, err
	}
	machineClasses, err := r.machineClasses.For(z.site.Platform)
	if err != nil {
		return request, nil, err
	}
	z.machineType, z.image = request.MachineType, image
	z.labels = machineClasses.NodeLabels(request.Site, request.Zone)
	inputs, err := siteInputs(machineClasses, request)
	if err != nil {
		return request, nil, err
	}
	z.className, err = className(f, z.zone, inputs)
	return request, machineClasses, err
}

// ask starts to resolve a zone. If the zone has the desired class already, no machines are rolled, so the request does not say how.
func (r resolver) ask(ctx context.Context, f *facts, z *resolved) (<-chan answer, error) {
	request, machineClasses, err := r.describe(f, z)
	if err != nil {
		return nil, err
	}
	if z.hasClass(z.className) {
		request.Rolling = nil
	}
	spec := &v1alpha1.MachineProviderSpec{Site: z.siteName, Shoot: f.cluster.Shoot.Status.TechnicalID,
		NodeSettings: z.site.Profile.NodeSettings}
	if z.image.Site.UserData != nil {
		spec.UserDataFormat = z.image.Site.UserData.Format
	}
	return platform.Ask(func() (*v1alpha1.MachineProviderSpec, error) {
		return spec, machineClasses.Resolve(ctx, request, spec)
	}), nil
}

// await returns the answer, or an error after the timeout. An answer that is available after the timeout is returned, too.
func (r resolver) await(ctx context.Context, answers <-chan answer) answer {
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
	}
	select {
	case a := <-answers:
		return a
	default:
		return answer{Err: platform.NewError(platform.ClassTransient, "no answer within %s: %w", r.timeout, ctx.Err())}
	}
}

// cleanUp deletes the objects that sites have for pools and none of the specs uses. Sites that do not answer in time have an error.
func (r resolver) cleanUp(ctx context.Context, sites []site.Site, inUse []*v1alpha1.MachineProviderSpec) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	answers := make([]<-chan answer, len(sites))
	for i := range sites {
		s := &sites[i]
		answers[i] = platform.Ask(func() (*v1alpha1.MachineProviderSpec, error) {
			machineClasses, err := r.machineClasses.For(s.Platform)
			if cleaner, ok := machineClasses.(platform.Cleaner); ok && err == nil {
				err = cleaner.CleanUp(ctx, s, slices.DeleteFunc(slices.Clone(inUse),
					func(spec *v1alpha1.MachineProviderSpec) bool { return spec.Site != s.Name }))
			}
			return nil, err
		})
	}

	var errs []error
	for i := range sites {
		if err := r.await(ctx, answers[i]).Err; err != nil {
			errs = append(errs, fmt.Errorf("deleting unused objects: %w", platform.InSite(sites[i].Name, err)))
		}
	}
	return errors.Join(errs...)
}

// unresolved returns the errors of the zones.
func unresolved(zones []*resolved) error {
	var errs []error
	for _, z := range zones {
		if z.err == nil {
			continue
		}
		what := "has no machines yet"
		if z.retained != nil {
			what = "keeps its machine class"
		}
		errs = append(errs, fmt.Errorf("pool %q in zone %q %s: %w", z.spec.Name, z.name, what, z.err))
	}
	return errors.Join(errs...)
}

// split returns the zones whose errors are tolerated and all others.
func split(zones []*resolved) (tolerated, others []*resolved) {
	for _, z := range zones {
		if z.isTolerated() {
			tolerated = append(tolerated, z)
		} else {
			others = append(others, z)
		}
	}
	return tolerated, others
}

// complete returns whether all zones are resolved or tolerated.
func complete(zones []*resolved) bool {
	return !slices.ContainsFunc(zones, func(z *resolved) bool { return z.err != nil && !z.isTolerated() })
}

// reportUnresolved writes a log entry and an event for each unresolved zone.
func reportUnresolved(c *call, zones []*resolved) {
	for _, z := range zones {
		if z.err == nil {
			continue
		}
		what := "has no machines yet"
		if z.retained != nil {
			what = "keeps machine class " + z.retained.className
		}
		c.log.Error(z.err, "Zone cannot be resolved", "pool", z.spec.Name, "zone", z.name, "site", z.siteName, "retained", z.retained != nil)
		// The recorder merges events with equal reasons and actions.
		c.events.Warning(c.worker, reasonUnresolved, "Reconcile-"+z.deploymentName, "Pool %q in zone %q %s: %v", z.spec.Name, z.name, what, z.err)
	}
}
