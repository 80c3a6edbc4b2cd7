// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"slices"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// pool is a worker pool.
type pool struct {
	spec *extensionsv1alpha1.WorkerPool
	// config is the pool's providerConfig. It is empty if there is none, and nil if it cannot be decoded.
	config   *v1alpha1.WorkerConfig
	userData []byte
}

// zone is a zone of a pool, which corresponds to one machine deployment.
type zone struct {
	*pool

	name           string
	deploymentName string
	// siteName is empty if the site of the zone is unknown.
	siteName string
	// site is nil if the shoot does not use the site.
	site  *site.Site
	share share
	// existing is the zone's machine deployment, nil if it does not exist.
	existing *existing
	// former are the names of the machine classes of machines to be restored.
	former sets.Set[string]
	// planErr is the reason why the zone cannot be resolved, which is known without its site.
	planErr error
	// held is true if that reason is a quarantine.
	held bool
}

// plan returns the desired zones of the Worker. An error of a pool is one of each of its zones.
func plan(f *facts) []*zone {
	var zones []*zone
	for i := range f.worker.Spec.Pools {
		zones = append(zones, planPool(f, &f.worker.Spec.Pools[i], f.userData[i])...)
	}
	return zones
}

func planPool(f *facts, spec *extensionsv1alpha1.WorkerPool, userData platform.Answer[[]byte]) []*zone {
	p := &pool{spec: spec, userData: userData.Value}
	config, err := shootsites.DecodeOptional[v1alpha1.WorkerConfig]("providerConfig", spec.ProviderConfig)
	if err == nil {
		p.config = config
	}
	poolErr := errors.Join(f.err, err, userData.Err)

	var (
		zones     []*zone
		positions []position
		onSite    = map[string]int32{}
	)
	for i, name := range spec.Zones {
		z := &zone{pool: p, name: name, deploymentName: helper.MachineDeploymentName(f.cluster.Shoot.Status.TechnicalID, spec.Name, name)}
		z.existing, z.former = f.existing[z.deploymentName], f.former.classes[z.deploymentName]
		z.site, z.siteName, err = f.locate(name)
		if z.planErr = poolErr; poolErr == nil {
			z.planErr = err
		}
		if err := refuseMove(z, f.former.sites[z.deploymentName]); err != nil && z.planErr == nil {
			z.planErr, z.site = platform.InSite(z.siteName, err), nil
		}
		if err := f.quarantines.errOf(z.siteName, z.siteBefore()); err != nil && z.planErr == nil {
			z.planErr, z.held = err, true
		}
		zones = append(zones, z)
		positions = append(positions, position{index: int32(i), indexOnSite: onSite[z.siteName]}) // #nosec G115 -- a pool has few zones.
		onSite[z.siteName]++
	}
	for i, z := range zones {
		at := positions[i]
		at.zones, at.zonesOnSite = int32(len(zones)), onSite[z.siteName] // #nosec G115 -- a pool has few zones.
		z.share = shareOf(spec, p.config.Site(z.siteName), at)
		if p.config == nil {
			z.share.retainNumbers(f.worker.Status.MachineDeployments, z.deploymentName)
		}
	}
	return zones
}

// refuseMove returns an error if the zone of a pool that is updated in place, or that has machines to be restored, has moved to another
// site. The former machines are never replaced, and for the latter only the names of their classes are known: with a machine class of
// the new site, machine-controller-manager would look for them at the wrong site.
func refuseMove(z *zone, formerSites sets.Set[string]) error {
	if others := formerSites.Clone().Delete(z.siteName, ""); others.Len() > 0 {
		return platform.NewError(platform.ClassConfiguration,
			"the zone has machines to be restored on sites %q; it must be a zone of that site until they are replaced", sets.List(others))
	}
	if z.existing == nil || !v1beta1helper.IsUpdateStrategyInPlace(z.spec.UpdateStrategy) {
		return nil
	}
	before := z.siteBefore()
	if before == "" || before == z.siteName {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration,
		"the zone was part of site %q, and machines that are updated in place cannot move", before)
}

// siteBefore returns the name of the site of the zone's machine deployment, empty if it is unknown or does not exist.
func (z *zone) siteBefore() string {
	if z.existing == nil {
		return ""
	}
	return z.existing.deployment.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
}

// hasClass returns whether the zone has machines of the class, or gets them by a restoration.
func (z *zone) hasClass(className string) bool {
	return z.existing != nil && z.existing.className == className || z.former.Has(className)
}

func (p *pool) architecture() string {
	return ptr.Deref(p.spec.Architecture, v1beta1constants.ArchitectureAMD64)
}

// share is a zone's share of the numbers of its pool.
type share struct {
	minimum, maximum         int32
	maxSurge, maxUnavailable intstr.IntOrString
	autoPreserveMax          int32
	priority                 *int32
}

// position is the position of a zone among those of its pool, and among those of the pool on the same site.
type position struct {
	index, zones             int32
	indexOnSite, zonesOnSite int32
}

// shareOf returns a zone's share. The pool's settings for the zone's site are distributed over its zones on that site, and everything
// else over all zones of the pool.
func shareOf(spec *extensionsv1alpha1.WorkerPool, workerSite v1alpha1.WorkerSite, at position) share {
	s := share{
		minimum:        worker.DistributeOverZones(at.index, spec.Minimum, at.zones),
		maximum:        worker.DistributeOverZones(at.index, spec.Maximum, at.zones),
		maxSurge:       worker.DistributePositiveIntOrPercent(at.index, spec.MaxSurge, at.zones, spec.Maximum),
		maxUnavailable: worker.DistributePositiveIntOrPercent(at.index, spec.MaxUnavailable, at.zones, spec.Minimum),
		priority:       spec.Priority,
	}
	if workerSite.Minimum != nil {
		s.minimum = worker.DistributeOverZones(at.indexOnSite, *workerSite.Minimum, at.zonesOnSite)
		s.maxUnavailable = at.onSite(s.maxUnavailable, spec.MaxUnavailable, *workerSite.Minimum)
	}
	if workerSite.Maximum != nil {
		s.maximum = worker.DistributeOverZones(at.indexOnSite, *workerSite.Maximum, at.zonesOnSite)
		s.maxSurge = at.onSite(s.maxSurge, spec.MaxSurge, *workerSite.Maximum)
	}
	if workerSite.Priority != nil {
		s.priority = workerSite.Priority
	}
	s.maximum = max(s.maximum, s.minimum)
	if settings := spec.MachineControllerManagerSettings; settings != nil {
		s.autoPreserveMax = worker.DistributeOverZones(at.index, ptr.Deref(settings.AutoPreserveFailedMachineMax, 0), at.zones)
	}
	return s
}

// onSite returns a percentage of the zone's share of the site. Absolute numbers are unchanged.
func (at position) onSite(current, ofPool intstr.IntOrString, total int32) intstr.IntOrString {
	if ofPool.Type == intstr.Int {
		return current
	}
	if total == 0 {
		return ofPool
	}
	return worker.DistributePositiveIntOrPercent(at.indexOnSite, ofPool, at.zonesOnSite, total)
}

// retainNumbers takes the numbers of the last reconciliation, for a pool whose providerConfig cannot be decoded.
func (s *share) retainNumbers(last []extensionsv1alpha1.MachineDeployment, deploymentName string) {
	i := slices.IndexFunc(last, func(m extensionsv1alpha1.MachineDeployment) bool { return m.Name == deploymentName })
	if i >= 0 {
		s.minimum, s.priority = last[i].Minimum, last[i].Priority
		s.maximum = max(last[i].Maximum, s.minimum)
	}
}
