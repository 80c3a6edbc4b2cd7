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
)

// share is a zone's part of the numbers of its pool.
type share struct {
	minimum, maximum         int32
	maxSurge, maxUnavailable intstr.IntOrString
	autoPreserveMax          int32
	priority                 *int32
}

// share returns the zone's part. What the pool says about the zone's site is split over the pool's zones on that site,
// everything else over all zones of the pool.
func (d *delegate) share(p *pool, z *zone) share {
	var (
		workerSite = p.workerSite(z.siteName)
		zones      = int32(len(p.zones)) // #nosec G115 -- a pool has few zones.
		s          = share{
			minimum:        worker.DistributeOverZones(z.index, p.spec.Minimum, zones),
			maximum:        worker.DistributeOverZones(z.index, p.spec.Maximum, zones),
			maxSurge:       worker.DistributePositiveIntOrPercent(z.index, p.spec.MaxSurge, zones, p.spec.Maximum),
			maxUnavailable: worker.DistributePositiveIntOrPercent(z.index, p.spec.MaxUnavailable, zones, p.spec.Minimum),
			priority:       p.spec.Priority,
		}
	)
	if workerSite.Minimum != nil {
		s.minimum = worker.DistributeOverZones(z.indexOnSite, *workerSite.Minimum, z.zonesOnSite)
		s.maxUnavailable = onSite(s.maxUnavailable, p.spec.MaxUnavailable, z, *workerSite.Minimum)
	}
	if workerSite.Maximum != nil {
		s.maximum = worker.DistributeOverZones(z.indexOnSite, *workerSite.Maximum, z.zonesOnSite)
		s.maxSurge = onSite(s.maxSurge, p.spec.MaxSurge, z, *workerSite.Maximum)
	}
	if workerSite.Priority != nil {
		s.priority = workerSite.Priority
	}
	if p.config == nil {
		d.keepNumbers(z, &s)
	}
	s.maximum = max(s.maximum, s.minimum)
	if settings := p.spec.MachineControllerManagerSettings; settings != nil {
		s.autoPreserveMax = worker.DistributeOverZones(z.index, ptr.Deref(settings.AutoPreserveFailedMachineMax, 0), zones)
	}
	return s
}

// onSite weighs a percentage with the zone's part of the site. A number of machines stays what it is.
func onSite(current, ofPool intstr.IntOrString, z *zone, total int32) intstr.IntOrString {
	if ofPool.Type == intstr.Int {
		return current
	}
	if total == 0 {
		return ofPool
	}
	return worker.DistributePositiveIntOrPercent(z.indexOnSite, ofPool, z.zonesOnSite, total)
}

// keepNumbers takes the numbers of the last reconciliation for a pool whose providerConfig cannot be read.
func (d *delegate) keepNumbers(z *zone, s *share) {
	i := slices.IndexFunc(d.worker.Status.MachineDeployments, func(m extensionsv1alpha1.MachineDeployment) bool { return m.Name == z.deploymentName })
	if i < 0 {
		return
	}
	last := d.worker.Status.MachineDeployments[i]
	s.minimum, s.maximum, s.priority = last.Minimum, last.Maximum, last.Priority
}
