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

// reasonUnresolved is the reason of the events about zones that cannot be resolved.
const reasonUnresolved = "ZoneUnresolved"

// resolver asks the sites what their machines are.
type resolver struct {
	machineClasses platform.Registry[platform.MachineClasses]
	timeout        time.Duration
}

// resolved is a zone with what its machines are.
type resolved struct {
	*zone

	machineType *v1alpha1.SiteMachineType
	image       *helper.MachineImage
	machineSpec *v1alpha1.MachineProviderSpec
	// providerSpec is machineSpec for the machine class.
	providerSpec *runtime.RawExtension
	className    string
	// labels are those that the platform wants the nodes to have.
	labels map[string]string
	// err says why the zone cannot be resolved. What is above may be nil then.
	err error
	// kept is what exists of a zone that cannot be resolved, nil if nothing does.
	kept *existing
}

// stays reports whether the zone cannot be resolved, but has machines of the class that it shall have, which is known without its site.
// A pool that is updated in place has that class whatever is to be changed.
func (z *resolved) stays() bool {
	return z.err != nil && z.kept != nil && z.kept.className == z.className && !v1beta1helper.IsUpdateStrategyInPlace(z.spec.UpdateStrategy)
}

type answer = platform.Answer[*v1alpha1.MachineProviderSpec]

// resolve asks for all zones with which nothing is wrong yet at the same time. It returns after the timeout even if a site does not
// answer and its platform does not give up; the zone then has an error. What exists of a zone with an error is kept.
func (r resolver) resolve(ctx context.Context, f *facts, zones []*zone) []*resolved {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	var (
		all     = make([]*resolved, len(zones))
		answers = make([]<-chan answer, len(zones))
	)
	for i, z := range zones {
		all[i] = &resolved{zone: z, err: z.wrong}
		if z.wrong == nil {
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
			z.kept = z.existing
		}
		if z.wrong == nil {
			z.err = platform.InSite(z.siteName, z.err)
		}
	}
	return all
}

// ask begins to resolve a zone. Machines of a zone that runs with its class already are not replaced, so that nothing is asked of the
// site for that.
func (r resolver) ask(ctx context.Context, f *facts, z *resolved) (<-chan answer, error) {
	request, image, err := request(f, z.zone)
	if err != nil {
		return nil, err
	}
	machineClasses, err := r.machineClasses.For(z.site.Platform)
	if err != nil {
		return nil, err
	}
	z.machineType, z.image = request.MachineType, image
	z.labels = machineClasses.NodeLabels(request.Site, request.Zone)
	if z.className, err = className(f, z.zone, machineClasses.RollsFor(request)); err != nil {
		return nil, err
	}
	if z.runs(z.className) {
		request.Rolling = nil
	}
	spec := &v1alpha1.MachineProviderSpec{Site: z.siteName, Shoot: f.cluster.Shoot.Status.TechnicalID}
	if image.Site.UserData != nil {
		spec.UserDataFormat = image.Site.UserData.Format
	}
	return platform.Ask(func() (*v1alpha1.MachineProviderSpec, error) {
		return spec, machineClasses.Resolve(ctx, request, spec)
	}), nil
}

// await returns the answer, also if it is there when the time is over because another site took all of it.
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

// cleanUp deletes what sites have for pools and none of the specs uses. Sites that do not answer in time have an error.
func (r resolver) cleanUp(ctx context.Context, sites []site.Site, inUse []*v1alpha1.MachineProviderSpec) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()

	answers := make([]<-chan answer, len(sites))
	for i := range sites {
		s := &sites[i]
		answers[i] = platform.Ask(func() (*v1alpha1.MachineProviderSpec, error) {
			machineClasses, err := r.machineClasses.For(s.Platform)
			if cleaner, ok := machineClasses.(platform.Cleaner); ok && err == nil {
				err = cleaner.CleanUp(ctx, s, ofSite(inUse, s.Name))
			}
			return nil, err
		})
	}

	var errs []error
	for i := range sites {
		if err := r.await(ctx, answers[i]).Err; err != nil {
			errs = append(errs, fmt.Errorf("deleting what no pool needs any more: %w", platform.InSite(sites[i].Name, err)))
		}
	}
	return errors.Join(errs...)
}

func ofSite(specs []*v1alpha1.MachineProviderSpec, siteName string) []*v1alpha1.MachineProviderSpec {
	return slices.DeleteFunc(slices.Clone(specs), func(spec *v1alpha1.MachineProviderSpec) bool { return spec.Site != siteName })
}

// unresolved returns what is wrong with the zones that could not be resolved.
func unresolved(zones []*resolved) error {
	var errs []error
	for _, z := range zones {
		if z.err == nil {
			continue
		}
		what := "has no machines yet"
		if z.kept != nil {
			what = "keeps its machine class"
		}
		errs = append(errs, fmt.Errorf("pool %q in zone %q %s: %w", z.spec.Name, z.name, what, z.err))
	}
	return errors.Join(errs...)
}

// split returns the zones that stay as they are, and all others.
func split(zones []*resolved) (stay, others []*resolved) {
	for _, z := range zones {
		if z.stays() {
			stay = append(stay, z)
		} else {
			others = append(others, z)
		}
	}
	return stay, others
}

// isWhole reports whether all zones could be resolved or stay as they are.
func isWhole(zones []*resolved) bool {
	_, others := split(zones)
	return !slices.ContainsFunc(others, func(z *resolved) bool { return z.err != nil })
}

// tellUnresolved writes a log entry and an event about each zone that cannot be resolved.
func tellUnresolved(c *call, zones []*resolved) {
	for _, z := range zones {
		if z.err == nil {
			continue
		}
		what := "has no machines yet"
		if z.kept != nil {
			what = "keeps machine class " + z.kept.className
		}
		c.log.Error(z.err, "Zone cannot be resolved", "pool", z.spec.Name, "zone", z.name, "site", z.siteName, "kept", z.kept != nil)
		// The recorder makes one event of those with equal reasons and actions.
		c.events.Warn(c.worker, reasonUnresolved, "Reconcile-"+z.deploymentName, "Pool %q in zone %q %s: %v", z.spec.Name, z.name, what, z.err)
	}
}
