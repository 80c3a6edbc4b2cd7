// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("What Services lose", func() {
	deployment := func(f *fixture) Deployment {
		reader := f.planner().reader
		return Deployment{Reader: reader, ControlPlane: f.cp.DeepCopy(), Cluster: f.cluster()}
	}
	plan := func(ctx SpecContext, f *fixture, change func()) []v1alpha1.PlannedService {
		GinkgoHelper()
		before := deployment(f)
		change()
		services, err := PlanServices(ctx, f.platforms(), before, deployment(f))
		Expect(err).NotTo(HaveOccurred())
		return services
	}

	It("should be nothing if nothing changes", func(ctx SpecContext) {
		Expect(plan(ctx, newFixture(), func() {})).To(BeEmpty())
	})

	It("should be all of a site that is removed", func(ctx SpecContext) {
		f := newFixture()
		Expect(plan(ctx, f, func() {
			f.infrastructure.Sites = slices.Delete(f.infrastructure.Sites, 1, 2)
			f.status.Sites = slices.Delete(f.status.Sites, 1, 2)
			f.zones = []string{"cloud-a", "racks-a"}
		})).To(Equal([]v1alpha1.PlannedService{
			{Action: v1alpha1.PlannedActionDelete, Kind: "LoadBalancers", Name: "cloud2"},
			{Action: v1alpha1.PlannedActionDelete, Kind: "StorageClass", Name: "other"},
			{Action: v1alpha1.PlannedActionDelete, Kind: "VolumeSnapshotClass", Name: "more-cloud2"},
			{Action: v1alpha1.PlannedActionDelete, Kind: "VolumeSnapshotClass", Name: "snapshots-cloud2"},
		}))
	})

	It("should be what changes of load balancers, and of the default site", func(ctx SpecContext) {
		f := newFixture()
		services := plan(ctx, f, func() {
			f.config.DefaultSite = "cloud2"
			f.status.Sites[0].OpenStack.SubnetID = "other"
		})
		Expect(services).To(ContainElements(
			v1alpha1.PlannedService{Action: v1alpha1.PlannedActionDelete, Kind: "DefaultSite", Name: "cloud"},
			v1alpha1.PlannedService{Action: v1alpha1.PlannedActionCreate, Kind: "DefaultSite", Name: "cloud2"},
			v1alpha1.PlannedService{Action: v1alpha1.PlannedActionChange, Kind: "LoadBalancers", Name: "cloud", Fields: []v1alpha1.PlannedField{
				{Name: "openstack.loadBalancer.subnetID", From: `"` + subnetID + `"`, To: `"other"`}}},
		))
	})
})
