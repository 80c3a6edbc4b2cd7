// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// share is a zone's part of the numbers of its pool.
type share struct {
	minimum, maximum         int32
	maxSurge, maxUnavailable intstr.IntOrString
	autoPreserveMax          int32
	priority                 *int32
}

// position is where a zone is among those of its pool, and among those of the same site.
type position struct {
	index, zones             int32
	indexOnSite, zonesOnSite int32
}

// shareOf returns a zone's part. What the pool says about the zone's site is split over the pool's zones on that site,
// everything else over all zones of the pool.
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

// onSite weighs a percentage with the zone's part of the site. A number of machines stays what it is.
func (at position) onSite(current, ofPool intstr.IntOrString, total int32) intstr.IntOrString {
	if ofPool.Type == intstr.Int {
		return current
	}
	if total == 0 {
		return ofPool
	}
	return worker.DistributePositiveIntOrPercent(at.indexOnSite, ofPool, at.zonesOnSite, total)
}

// keepNumbers takes the numbers of the last reconciliation, for a pool whose providerConfig cannot be read.
func (s *share) keepNumbers(last []extensionsv1alpha1.MachineDeployment, deploymentName string) {
	i := slices.IndexFunc(last, func(m extensionsv1alpha1.MachineDeployment) bool { return m.Name == deploymentName })
	if i >= 0 {
		s.minimum, s.priority = last[i].Minimum, last[i].Priority
		s.maximum = max(last[i].Maximum, s.minimum)
	}
}
