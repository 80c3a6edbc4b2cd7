// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

func siteSpecs() {
	It("should move what the default site has to another", func(ctx SpecContext) {
		processes := running(ctx)
		for _, to := range []struct{ site, class string }{{racks, racksClass}, {cloud, cloudClass}} {
			changeShoot(ctx, func(s *shootChange) { s.controlPlane.DefaultSite = to.site })
			reconcileControlPlane(ctx)
			Eventually(defaultClasses).WithContext(ctx).WithArguments(ctx).Should(ConsistOf(to.class))
			Eventually(func() string { return controllers(ctx).DefaultSite }).WithContext(ctx).Should(Equal(to.site))
		}
		Expect(running(ctx)).To(Equal(processes))
	}, SpecTimeout(6*time.Minute))

	var removed v1alpha1.InfrastructureSite

	It("should serve a site that the Shoot has lost until its last machine is gone", func(ctx SpecContext) {
		others, processes, leaving := identitiesBeside(ctx, vcZone), running(ctx), nodesIn(ctx, vcZone)
		Expect(leaving).NotTo(BeEmpty())
		changeShoot(ctx, func(s *shootChange) {
			i := slices.IndexFunc(s.infrastructure.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == vc })
			removed = s.infrastructure.Sites[i]
			s.infrastructure.Sites = slices.Delete(s.infrastructure.Sites, i, i+1)
			changeZones(s.Shoot, func(zones []string) []string {
				return slices.DeleteFunc(zones, func(zone string) bool { return zone == vcZone })
			})
		})
		reconcileInfrastructure(ctx)
		reconcileControlPlane(ctx)
		applied(ctx)
		Expect(configuredSites(ctx)).To(ConsistOf(cloud, vc, racks, hall))
		Expect(daemonSets(ctx)).To(ContainElement(vsphereNodes))

		reconcileWorker(ctx, 3, func(zones []string) []string {
			return slices.DeleteFunc(zones, func(zone string) bool { return zone == vcZone })
		})
		Eventually(identities).WithContext(ctx).WithArguments(ctx, vcZone).Should(BeEmpty())
		expectNothingOn(ctx, leaving)
		reconcileInfrastructure(ctx)
		reconcileControlPlane(ctx)
		Eventually(configuredSites).WithContext(ctx).WithArguments(ctx).Should(ConsistOf(cloud, racks, hall))
		Eventually(daemonSets).WithContext(ctx).WithArguments(ctx).Should(ConsistOf(cinderNodes, speakers))
		Eventually(seedDeployments).WithContext(ctx).WithArguments(ctx).ShouldNot(HaveKey("csi-vsphere-controller"))
		Expect(identitiesBeside(ctx, vcZone)).To(Equal(others))
		Expect(running(ctx)).To(Equal(processes))
	}, SpecTimeout(12*time.Minute))

	It("should roll no node for a site that the Shoot gets", func(ctx SpecContext) {
		others, processes := identitiesBeside(ctx, vcZone), running(ctx)
		changeShoot(ctx, func(s *shootChange) {
			s.infrastructure.Sites = slices.Insert(s.infrastructure.Sites, 1, removed)
			changeZones(s.Shoot, func(zones []string) []string { return slices.Insert(zones, 1, vcZone) })
		})
		reconcileInfrastructure(ctx)
		reconcileControlPlane(ctx)
		reconcileWorker(ctx, 4, func(zones []string) []string { return slices.Insert(zones, 1, vcZone) })
		for name := range identities(ctx, vcZone) {
			Expect(initialized(ctx, nodeOf(ctx, name)).Spec.ProviderID).To(HavePrefix("vsphere://"))
		}
		Eventually(places).WithContext(ctx).WithArguments(ctx).Should(HaveKeyWithValue(vsphereNodes, nodesIn(ctx, vcZone)))
		Expect(configuredSites(ctx)).To(ConsistOf(cloud, vc, racks, hall))
		Expect(identitiesBeside(ctx, vcZone)).To(Equal(others))
		Expect(running(ctx)).To(Equal(processes))
		applied(ctx)
	}, SpecTimeout(12*time.Minute))
}

// changeZones changes the zones of the pool on all sites in the Shoot.
func changeZones(shoot *gardencorev1beta1.Shoot, change func([]string) []string) {
	workers := shoot.Spec.Provider.Workers
	for i := range workers {
		if workers[i].Name == mixed().Name {
			workers[i].Zones = change(workers[i].Zones)
		}
	}
}

// maximum is that of the pool on all sites: no machine that was added goes because of it.
const maximum = 20

// reconcileWorker changes the zones of the pool on all sites in the Worker, as the Infrastructure is now, and lets it be reconciled.
func reconcileWorker(ctx SpecContext, minimum int32, change func([]string) []string) {
	GinkgoHelper()
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: meta()}
	get(ctx, infrastructure)
	since := time.Now()
	worker, err := local.ChangeWorker(ctx, func(worker *extensionsv1alpha1.Worker) {
		worker.Spec.InfrastructureProviderStatus = infrastructure.Status.ProviderStatus
		for i := range worker.Spec.Pools {
			if pool := &worker.Spec.Pools[i]; pool.Name == mixed().Name {
				pool.Zones, pool.Minimum, pool.Maximum = change(slices.Clone(pool.Zones)), minimum, maximum
			}
		}
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(local.Reconciled(ctx, worker, since)).To(Succeed())
}
