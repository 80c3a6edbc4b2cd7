// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

var _ = Describe("MachineClasses", func() {
	var (
		s       *site.Site
		part    platform.MachineClasses
		project *services
	)

	BeforeEach(func(ctx SpecContext) {
		s = newSite(shootName())
		part = machineclasses.New(newSessions())
		project = newServices(ctx, credentials)
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(part.(platform.Cleaner).CleanUp(ctx, s, nil)).To(Succeed())
		})
	})

	resolve := func(ctx context.Context, pool, zone string, settings v1alpha1.OpenStackWorker,
		volumes ...platform.DataVolume) (*v1alpha1.OpenStackMachineSpec, error) {
		spec := &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot}
		err := part.Resolve(ctx, platform.MachineClassRequest{
			Site:        s,
			Status:      &v1alpha1.SiteStatus{OpenStack: &v1alpha1.OpenStackStatus{SecurityGroupID: "of-the-nodes"}},
			Zone:        &v1alpha1.SiteZone{Name: zone, OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: zone}},
			MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.tiny"}},
			Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
			DataVolumes: volumes,
			Settings:    v1alpha1.WorkerSite{Name: s.Name, OpenStack: &settings},
			Pool:        pool,
		}, spec)
		return spec.OpenStack, err
	}
	grouped := func(policy string) v1alpha1.OpenStackWorker {
		return v1alpha1.OpenStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: policy}}
	}
	// serverGroups returns the names of those whose names begin with that of the shoot, with their policies.
	serverGroups := func(ctx context.Context) map[string]string {
		GinkgoHelper()
		compute := *project.compute
		compute.Microversion = "2.64"
		pages, err := servergroups.List(&compute, nil).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		all, err := servergroups.ExtractServerGroups(pages)
		Expect(err).NotTo(HaveOccurred())
		found := map[string]string{}
		for _, g := range all {
			if len(g.Name) > len(s.Shoot) && g.Name[:len(s.Shoot)] == s.Shoot {
				found[g.Name] = *g.Policy
			}
		}
		return found
	}
	name := func(pool, policy string) string {
		return owner.Owner{Shoot: s.Shoot, Site: s.Name}.ServerGroupName(pool, policy)
	}

	DescribeTable("should make server groups of each policy",
		func(ctx SpecContext, policy string) {
			spec, err := resolve(ctx, "batch", "az1", grouped(policy))
			Expect(err).NotTo(HaveOccurred())
			Expect(spec.ServerGroupID).NotTo(BeEmpty())
			Expect(serverGroups(ctx)).To(Equal(map[string]string{name("batch", policy): policy}))
		},
		Entry(nil, "affinity"), Entry(nil, "anti-affinity"), Entry(nil, "soft-affinity"), Entry(nil, "soft-anti-affinity"),
	)

	It("should make one server group for all zones of a pool that ask at the same time, and adopt it after a restart", func(ctx SpecContext) {
		var (
			group sync.WaitGroup
			ids   = make([]string, 6)
		)
		for i := range ids {
			group.Go(func() {
				defer GinkgoRecover()
				spec, err := resolve(ctx, "batch", []string{"az1", "az2", "az3"}[i%3], grouped("soft-anti-affinity"))
				Expect(err).NotTo(HaveOccurred())
				ids[i] = spec.ServerGroupID
			})
		}
		group.Wait()
		Expect(slices.Compact(ids)).To(HaveLen(1))

		part = machineclasses.New(newSessions())
		again, err := resolve(ctx, "batch", "az1", grouped("soft-anti-affinity"))
		Expect(err).NotTo(HaveOccurred())
		Expect(again.ServerGroupID).To(Equal(ids[0]))
		Expect(serverGroups(ctx)).To(HaveLen(1))
	})

	It("should find the server group again whose creation was answered to nobody", func(ctx SpecContext) {
		Expect(proxy.SetFaults(countproxy.Fault{Name: "lost answer", Service: "nova", Method: http.MethodPost, Path: "/os-server-groups$",
			Times: 1, Action: countproxy.ActionReset, After: true})).To(Succeed())
		_, err := resolve(ctx, "batch", "az1", grouped("affinity"))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(`serverGroup with policy "affinity"`)))

		_, err = resolve(ctx, "batch", "az1", grouped("affinity"))
		Expect(err).NotTo(HaveOccurred())
		Expect(serverGroups(ctx)).To(HaveLen(1))
	})

	It("should delete the server groups that no machine class uses, and none of others", func(ctx SpecContext) {
		kept, err := resolve(ctx, "batch", "az1", grouped("affinity"))
		Expect(err).NotTo(HaveOccurred())
		_, err = resolve(ctx, "batch", "az1", grouped("soft-affinity"))
		Expect(err).NotTo(HaveOccurred())
		_, err = resolve(ctx, "other", "az1", grouped("affinity"))
		Expect(err).NotTo(HaveOccurred())
		foreign, err := servergroups.Create(ctx, project.compute,
			servergroups.CreateOpts{Name: s.Shoot + "-cloud-batch-12345678", Policies: []string{"affinity"}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(servergroups.Delete(ctx, project.compute, foreign.ID).ExtractErr()).To(Succeed())
		})

		requests := label("clean up")
		Expect(part.(platform.Cleaner).CleanUp(ctx, s, []*v1alpha1.MachineProviderSpec{{OpenStack: kept}})).To(Succeed())
		Expect(requests()).To(HaveLen(4), "one list, which ends with an empty page, and two deletions")
		Expect(serverGroups(ctx)).To(Equal(map[string]string{name("batch", "affinity"): "affinity", foreign.Name: "affinity"}))

		requests = label("clean up nothing")
		Expect(part.(platform.Cleaner).CleanUp(ctx, s, []*v1alpha1.MachineProviderSpec{{OpenStack: kept}})).To(Succeed())
		Expect(requests()).To(HaveLen(2))

		Expect(part.(platform.Cleaner).CleanUp(ctx, s, nil)).To(Succeed())
		Expect(serverGroups(ctx)).To(HaveLen(1))
	})

	It("should say which policy the site refuses, and what is made by a pool whose flavor is missing: nothing", func(ctx SpecContext) {
		_, err := resolve(ctx, "batch", "az1", grouped("loneliness"))
		Expect(err).To(MatchError(And(HavePrefix(`site "cloud": `), ContainSubstring(`serverGroup with policy "loneliness"`))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		settings := grouped("affinity")
		settings.AdditionalSecurityGroups = []string{"missing"}
		_, err = resolve(ctx, "batch", "az1", settings)
		Expect(err).To(HaveOccurred())
		Expect(serverGroups(ctx)).To(BeEmpty())
	})

	It("should find additional security groups by name and by ID, once for all zones, and name those that it does not find",
		func(ctx SpecContext) {
			create := func(name string) string {
				created, err := groups.Create(ctx, project.network, groups.CreateOpts{Name: s.Shoot + "-" + name}).Extract()
				Expect(err).NotTo(HaveOccurred())
				DeferCleanup(func(ctx SpecContext) {
					Expect(groups.Delete(ctx, project.network, created.ID).ExtractErr()).To(Succeed())
				})
				return created.ID
			}
			db, cache, twin := create("db"), create("cache"), create("twin")
			Expect(create("twin")).NotTo(Equal(twin))

			spec, err := resolve(ctx, "batch", "az1", v1alpha1.OpenStackWorker{AdditionalSecurityGroups: []string{s.Shoot + "-db", cache, db}})
			Expect(err).NotTo(HaveOccurred())
			Expect(spec.SecurityGroupIDs).To(Equal([]string{"of-the-nodes", db, cache}))

			_, err = resolve(ctx, "batch", "az1",
				v1alpha1.OpenStackWorker{AdditionalSecurityGroups: []string{"missing", s.Shoot + "-twin", "00000000-0000-4000-8000-000000000000"}})
			Expect(err).To(MatchError(And(
				ContainSubstring(`0 security groups with the name or ID "missing"`),
				ContainSubstring(`2 security groups with the name or ID "`+s.Shoot+`-twin"`),
				ContainSubstring(`0 security groups with the name or ID "00000000-0000-4000-8000-000000000000"`),
			)))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})

	It("should keep equal names of two projects apart", func(ctx SpecContext) {
		_, err := resolve(ctx, "batch", "az1", grouped("affinity"))
		Expect(err).NotTo(HaveOccurred())

		other, err := bed.Credentials(openstack.Projects[1])
		Expect(err).NotTo(HaveOccurred())
		before := s.Credentials
		s.Credentials = site.Credentials(other.SiteCredentials())
		Expect(part.(platform.Cleaner).CleanUp(ctx, s, nil)).To(Succeed())
		s.Credentials = before
		Expect(serverGroups(ctx)).To(HaveLen(1))
	})
})
