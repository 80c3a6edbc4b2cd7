// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"slices"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// pool is a worker pool.
type pool struct {
	spec *extensionsv1alpha1.WorkerPool
	// config is the pool's providerConfig, empty if there is none and nil if it cannot be read.
	config   *v1alpha1.WorkerConfig
	userData []byte
}

// zone is a zone of a pool, and so a machine deployment.
type zone struct {
	*pool

	name           string
	deploymentName string
	// siteName is empty if no site is known to have the zone.
	siteName string
	// site is nil if the shoot does not use the site.
	site  *site.Site
	share share
	// existing is what exists of the zone, nil if nothing does.
	existing *existing
	// former are the machine classes of machines to be restored.
	former sets.Set[string]
	// wrong says why no site can be asked for the zone.
	wrong error
}

// plan returns the zones that a Worker shall have. What is wrong with a pool is an error of each of its zones.
func plan(f *facts) []*zone {
	var zones []*zone
	for i := range f.worker.Spec.Pools {
		zones = append(zones, planPool(f, &f.worker.Spec.Pools[i], f.userData[i])...)
	}
	return zones
}

func planPool(f *facts, spec *extensionsv1alpha1.WorkerPool, userData platform.Answer[[]byte]) []*zone {
	p := &pool{spec: spec, userData: userData.Value}
	config, err := codec.Decode[v1alpha1.WorkerConfig](spec.ProviderConfig)
	switch {
	case err == nil:
		p.config = config
	case errors.Is(err, codec.ErrEmpty):
		p.config, err = &v1alpha1.WorkerConfig{}, nil
	default:
		err = platform.NewError(platform.ClassConfiguration, "providerConfig: %w", err)
	}
	wrong := errors.Join(f.err, err, userData.Err)

	var (
		zones     []*zone
		positions []position
		onSite    = map[string]int32{}
	)
	for i, name := range spec.Zones {
		z := &zone{pool: p, name: name, deploymentName: helper.MachineDeploymentName(f.cluster.Shoot.Status.TechnicalID, spec.Name, name)}
		z.existing, z.former = f.existing[z.deploymentName], f.former.classes[z.deploymentName]
		z.site, z.siteName, err = f.locate(name)
		if z.wrong = wrong; wrong == nil {
			z.wrong = err
		}
		if err := refuseMove(z, f.former.sites[z.deploymentName]); err != nil && z.wrong == nil {
			z.wrong, z.site = platform.InSite(z.siteName, err), nil
		}
		zones = append(zones, z)
		positions = append(positions, position{index: int32(i), indexOnSite: onSite[z.siteName]}) // #nosec G115 -- a pool has few zones.
		onSite[z.siteName]++
	}
	for i, z := range zones {
		at := positions[i]
		at.zones, at.zonesOnSite = int32(len(zones)), onSite[z.siteName] // #nosec G115 -- a pool has few zones.
		z.share = shareOf(spec, p.workerSite(z.siteName), at)
		if p.config == nil {
			z.share.keepNumbers(f.worker.Status.MachineDeployments, z.deploymentName)
		}
	}
	return zones
}

// refuseMove returns an error if the zone belongs to another site than the machines that it has and the pool is updated in place.
// Such a pool's machines are never replaced: with a class of the new site they would be looked for where they are not.
//
// Of machines to be restored no class is known but its name, so that a class of the new site would be all that they have, in any pool.
func refuseMove(z *zone, formerSites sets.Set[string]) error {
	if others := formerSites.Clone().Delete(z.siteName, ""); others.Len() > 0 {
		return platform.NewError(platform.ClassConfiguration,
			"the zone has machines to be restored on sites %q; it must be a zone of that site until they are replaced", sets.List(others))
	}
	if z.existing == nil || !v1beta1helper.IsUpdateStrategyInPlace(z.spec.UpdateStrategy) {
		return nil
	}
	before := z.existing.deployment.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
	if before == "" || before == z.siteName {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration,
		"the zone was part of site %q, and machines that are updated in place cannot move", before)
}

// runs reports whether the zone has machines of the class, or gets them when they are restored.
func (z *zone) runs(className string) bool {
	return z.existing != nil && z.existing.className == className || z.former.Has(className)
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

func (p *pool) architecture() string {
	return ptr.Deref(p.spec.Architecture, v1beta1constants.ArchitectureAMD64)
}
