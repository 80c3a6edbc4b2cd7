// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// plan is what a Worker shall have.
type plan struct {
	// sites are those that the shoot uses and that are known.
	sites []site.Site
	pools []*pool
}

// pool is a worker pool.
type pool struct {
	spec *extensionsv1alpha1.WorkerPool
	// config is the pool's providerConfig, empty if there is none and nil if it cannot be read.
	config   *v1alpha1.WorkerConfig
	userData []byte
	zones    []*zone
}

// zone is a zone of a pool, and so a machine deployment.
type zone struct {
	name           string
	deploymentName string
	// index is the position of the zone in the pool, indexOnSite that among the pool's zones of the same site.
	index, indexOnSite, zonesOnSite int32
	// siteName is empty if no site is known to have the zone.
	siteName string
	// site is nil if the shoot does not use the site.
	site *site.Site
	// machineType, image and spec are nil if the zone cannot be resolved; err says why.
	machineType *v1alpha1.SiteMachineType
	image       *helper.MachineImage
	spec        *v1alpha1.MachineProviderSpec
	err         error
	className   string
	// labels are those that the platform wants the nodes to have.
	labels map[string]string
	// kept is what exists of a zone that cannot be resolved, nil if nothing does.
	kept *keptZone
}

// wanted reports whether the zone has a machine deployment: its own, or the one that exists.
func (z *zone) wanted() bool {
	return z.err == nil || z.kept != nil
}

// zones calls do for all zones of all pools.
func (p *plan) zones(do func(*pool, *zone)) {
	for _, pool := range p.pools {
		for _, z := range pool.zones {
			do(pool, z)
		}
	}
}

// plan finds out once what the Worker shall have. Its error is one of the seed. What is wrong with a pool, a zone or a site is
// the error of the zones that it is about.
func (d *delegate) plan(ctx context.Context) (*plan, error) {
	if d.planned != nil {
		return d.planned, nil
	}

	facts, factsErr := d.readFacts(ctx)
	p := &plan{sites: facts.sites}
	for i := range d.worker.Spec.Pools {
		p.pools = append(p.pools, d.planPool(ctx, &d.worker.Spec.Pools[i], facts, factsErr))
	}
	if err := d.refuseMoves(ctx, p); err != nil {
		return nil, err
	}
	running, err := d.runningClasses(ctx)
	if err != nil {
		return nil, err
	}
	d.resolver.resolve(ctx, d, p, facts, running)

	var errs []error
	p.zones(func(pool *pool, z *zone) {
		if z.err == nil {
			return
		}
		kept, err := d.findKept(ctx, z)
		if err != nil {
			errs = append(errs, err)
			return
		}
		z.kept = kept
		d.tellUnresolved(pool, z)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	d.planned = p
	return p, nil
}

// planPool looks at everything that is known without asking a site.
func (d *delegate) planPool(ctx context.Context, spec *extensionsv1alpha1.WorkerPool, facts *facts, poolErr error) *pool {
	p := &pool{spec: spec}

	var errs []error
	if poolErr != nil {
		errs = append(errs, poolErr)
	}
	config, err := codec.Decode[v1alpha1.WorkerConfig](spec.ProviderConfig)
	switch {
	case err == nil:
		p.config = config
	case errors.Is(err, codec.ErrEmpty):
		p.config = &v1alpha1.WorkerConfig{}
	default:
		errs = append(errs, platform.NewError(platform.ClassConfiguration, "providerConfig: %w", err))
	}
	if p.userData, err = worker.FetchUserData(ctx, d.client, d.worker.Namespace, *spec); err != nil {
		errs = append(errs, err)
	}
	poolErr = errors.Join(errs...)

	onSite := map[string]int32{}
	for _, name := range spec.Zones {
		z := &zone{
			name:           name,
			deploymentName: helper.MachineDeploymentName(d.cluster.Shoot.Status.TechnicalID, spec.Name, name),
			index:          int32(len(p.zones)), // #nosec G115 -- a pool has few zones.
			err:            poolErr,
		}
		facts.locate(z)
		z.indexOnSite = onSite[z.siteName]
		onSite[z.siteName]++
		p.zones = append(p.zones, z)
	}
	for _, z := range p.zones {
		z.zonesOnSite = onSite[z.siteName]
	}
	return p
}

// unresolved returns what is wrong with the zones that could not be resolved.
func (d *delegate) unresolved() error {
	if d.planned == nil {
		return nil
	}
	var errs []error
	d.planned.zones(func(pool *pool, z *zone) {
		if z.err == nil {
			return
		}
		what := "has no machines yet"
		if z.kept != nil {
			what = "keeps its machine class"
		}
		errs = append(errs, fmt.Errorf("pool %q in zone %q %s: %w", pool.spec.Name, z.name, what, z.err))
	})
	return errors.Join(errs...)
}

// allResolved reports whether no zone has an error.
func (d *delegate) allResolved() bool {
	return d.unresolved() == nil
}

// workerSite returns the pool's settings for a site; they are empty if there are none.
func (p *pool) workerSite(siteName string) v1alpha1.WorkerSite {
	if p.config != nil {
		if i := slices.IndexFunc(p.config.Sites, func(s v1alpha1.WorkerSite) bool { return s.Name == siteName }); i >= 0 {
			return p.config.Sites[i]
		}
	}
	return v1alpha1.WorkerSite{}
}
