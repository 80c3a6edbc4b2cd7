// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

var _ = Describe("Infrastructure", func() {
	var (
		platf   platform.Infrastructure
		manager *tags.Manager
		s       *site.Site
	)

	BeforeEach(func(ctx SpecContext) {
		makeParentFolders(ctx)
		manager = tagManager(ctx)
		platf = infrastructure.New(newSessions())
		s = newSite("shoot--it--" + rand.String(5))
	})

	// persist keeps the state as the controller does.
	persist := func(_ context.Context, state *v1alpha1.SiteState) error {
		s.State = state.DeepCopy()
		return nil
	}
	reconcile := func(ctx context.Context) *v1alpha1.VSphereStatus {
		GinkgoHelper()
		status, err := platf.Reconcile(ctx, s, persist)
		Expect(err).NotTo(HaveOccurred())
		return status.VSphere
	}
	exists := func(ctx context.Context, path string) bool {
		GinkgoHelper()
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, path)
		Expect(err).NotTo(HaveOccurred())
		return found != nil
	}
	tagNames := func(ctx context.Context, category string) []string {
		GinkgoHelper()
		found, err := manager.GetTagsForCategory(ctx, category)
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, tag := range found {
			names = append(names, tag.Name)
		}
		return names
	}
	deleteAll := func(ctx context.Context) {
		GinkgoHelper()
		Expect(platf.Delete(ctx, s, persist)).To(Succeed())
		Expect(exists(ctx, "/DC0/vm/gardener/"+s.Shoot+".vc")).To(BeFalse())
		Expect(exists(ctx, "/DC1/vm/gardener/"+s.Shoot+".vc")).To(BeFalse())
		Expect(tagNames(ctx, "gardener-shoot")).NotTo(ContainElement(s.Shoot + ".vc"))
		Expect(platf.Orphans(ctx, s)).To(BeEmpty())
	}

	It("should make a folder in each datacenter, say where machines are, and delete only that", func(ctx SpecContext) {
		status := reconcile(ctx)
		Expect(status.Zones).To(HaveLen(4))
		Expect(status.OwnerTagID).NotTo(BeEmpty())
		for _, z := range status.Zones {
			Expect([]string{z.Datacenter, z.ComputeCluster, z.ResourcePool, z.Folder, z.Datastore, z.Network.ID}).NotTo(ContainElement(""))
		}
		Expect(status.Zones[0].Folder).To(Equal(status.Zones[1].Folder))
		Expect(status.Zones[0].Folder).NotTo(Equal(status.Zones[2].Folder))
		Expect(status.Zones[0].FolderPath).To(Equal("/DC0/vm/gardener/" + s.Shoot + ".vc"))
		Expect(exists(ctx, "/DC1/vm/gardener/"+s.Shoot+".vc")).To(BeTrue())
		Expect(s.State.VSphere.Folders).To(HaveLen(2))

		orphans, err := platf.Orphans(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphans).To(HaveLen(3))
		Expect(orphans).To(ContainElement(And(HaveField("Site", "vc"), HaveField("Kind", "tag"), HaveField("Name", s.Shoot+".vc"))))

		deleteAll(ctx)
		Expect(exists(ctx, "/DC0/vm/gardener")).To(BeTrue())
		Expect(s.State.VSphere.Folders).To(BeEmpty())
		Expect(platf.Delete(ctx, s, persist)).To(Succeed(), "deleted twice")
	})

	It("should change nothing the second time, and find what the state has lost", func(ctx SpecContext) {
		first := reconcile(ctx)
		written := s.State
		count(ctx)
		Expect(reconcile(ctx)).To(Equal(first))
		Expect(s.State).To(BeIdenticalTo(written), "the state was written again")
		for method := range count(ctx) {
			Expect(method).NotTo(Or(ContainSubstring("Create"), ContainSubstring("?attach")))
		}

		s.State = nil
		Expect(reconcile(ctx)).To(Equal(first))
		Expect(s.State).To(Equal(written))
		s.State = nil
		deleteAll(ctx)
	})

	It("should make a resource pool in each zone where the operator wants one", func(ctx SpecContext) {
		s.Profile.VSphere.ResourcePools = &v1alpha1.VSphereResourcePools{PerShoot: true}
		status := reconcile(ctx)
		pool := "/DC0/host/DC0_C0/Resources/" + s.Shoot + ".vc"
		Expect(exists(ctx, pool)).To(BeTrue())
		Expect(s.State.VSphere.ResourcePools).To(HaveLen(4))
		Expect(s.State.VSphere.ResourcePools[0].ID).To(Equal(status.Zones[0].ResourcePool))
		deleteAll(ctx)
		Expect(exists(ctx, pool)).To(BeFalse())
		Expect(exists(ctx, "/DC0/host/DC0_C0/Resources")).To(BeTrue())
	})

	It("should finish what an interrupted reconciliation began", func(ctx SpecContext) {
		crash := errors.New("crash")
		for writes := 1; ; writes++ {
			left := writes
			_, err := platf.Reconcile(ctx, s, func(ctx context.Context, state *v1alpha1.SiteState) error {
				if left--; left == 0 {
					return crash
				}
				return persist(ctx, state)
			})
			if err == nil {
				break
			}
			Expect(err).To(MatchError(crash))
		}
		Expect(s.State.VSphere.Folders).To(HaveLen(2))
		orphans, err := platf.Orphans(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphans).To(HaveLen(3))
		deleteAll(ctx)
	})

	It("should take over no folder that has something of others in it", func(ctx SpecContext) {
		parent, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/vm/gardener")
		Expect(err).NotTo(HaveOccurred())
		foreign, err := parent.(*object.Folder).CreateFolder(ctx, s.Shoot+".vc")
		Expect(err).NotTo(HaveOccurred())
		inside, err := foreign.CreateFolder(ctx, "theirs")
		Expect(err).NotTo(HaveOccurred())

		_, err = platf.Reconcile(ctx, s, persist)
		Expect(err).To(MatchError(And(ContainSubstring(`site "vc"`), ContainSubstring("is not empty"))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		Expect(platf.Delete(ctx, s, persist)).To(MatchError(ContainSubstring(`"theirs"`)))
		Expect(exists(ctx, "/DC0/vm/gardener/"+s.Shoot+".vc/theirs")).To(BeTrue())

		for _, folder := range []*object.Folder{inside, foreign} {
			task, err := folder.Destroy(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(task.Wait(ctx)).To(Succeed())
		}
		deleteAll(ctx)
	})

	It("should delete a site by its state when the CloudProfile has dropped it", func(ctx SpecContext) {
		reconcile(ctx)
		profile := s.Profile
		s.Profile, s.Config = nil, nil
		Expect(platf.Orphans(ctx, s)).To(HaveLen(3))
		Expect(platf.Delete(ctx, s, persist)).To(Succeed())
		s.Profile = profile
		deleteAll(ctx)
	})

	It("should be deleted although somebody deleted its tag", func(ctx SpecContext) {
		status := reconcile(ctx)
		tag, err := manager.GetTag(ctx, status.OwnerTagID)
		Expect(err).NotTo(HaveOccurred())
		Expect(manager.DeleteTag(ctx, tag)).To(Succeed())
		Expect(platf.Orphans(ctx, s)).To(HaveLen(2))
		deleteAll(ctx)
	})

	It("should keep its tag as long as a virtual machine elsewhere has it", func(ctx SpecContext) {
		status := reconcile(ctx)
		moved, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/vm/"+vcenter.Template)
		Expect(err).NotTo(HaveOccurred())
		Expect(manager.AttachTag(ctx, status.OwnerTagID, moved.Reference())).To(Succeed())

		err = platf.Delete(ctx, s, persist)
		Expect(err).To(MatchError(And(ContainSubstring(`site "vc"`), ContainSubstring(vcenter.Template),
			ContainSubstring(moved.Reference().Value))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		Expect(platf.Orphans(ctx, s)).To(ContainElement(HaveField("ID", moved.Reference().Value)))

		Expect(manager.DetachTag(ctx, status.OwnerTagID, moved.Reference())).To(Succeed())
		deleteAll(ctx)
	})

	It("should delete the rules that machines left, and those of no other shoot", func(ctx SpecContext) {
		reconcile(ctx)
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/host/DC0_C0")
		Expect(err).NotTo(HaveOccurred())
		cluster := found.(*object.ClusterComputeResource)
		for _, name := range []string{s.Shoot + ".vc.pool.dc0-a", s.Shoot + ".vc2.pool.dc0-a"} {
			rule := &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Name: name}}
			add := types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: rule}
			task, err := cluster.Reconfigure(ctx, &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{add}}, true)
			Expect(err).NotTo(HaveOccurred())
			Expect(task.Wait(ctx)).To(Succeed())
		}
		Expect(platf.Orphans(ctx,
			s)).To(ContainElement(And(HaveField("Kind", "anti-affinity rule"), HaveField("Name", s.Shoot+".vc.pool.dc0-a"))))

		deleteAll(ctx)
		configuration, err := cluster.Configuration(ctx)
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, rule := range configuration.Rule {
			names = append(names, rule.GetClusterRuleInfo().Name)
		}
		Expect(names).To(And(ContainElement(s.Shoot+".vc2.pool.dc0-a"), Not(ContainElement(s.Shoot+".vc.pool.dc0-a"))))
	})

	It("should delete the machines that are left, also one that is still being made and one that was moved, and nothing of others",
		func(ctx SpecContext) {
			status := reconcile(ctx)
			place := newBed(ctx)
			spec := place.spec(ctx, "DC0_C0")
			spec.Shoot, spec.VSphere.Folder, spec.VSphere.FolderPath = s.Shoot, status.Zones[0].Folder, status.Zones[0].FolderPath
			spec.VSphere.TagIDs = []string{status.OwnerTagID}
			part := machines.New(newSessions())
			request := func(name string) platform.MachineRequest {
				return platform.MachineRequest{Name: s.Shoot + "-" + name, Spec: spec, Credentials: siteCredentials(), UserData: []byte("#!/bin/sh\n")}
			}
			for _, name := range []string{"left", "moved"} {
				_, err := part.Create(ctx, request(name))
				Expect(err).NotTo(HaveOccurred())
			}
			root, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/vm")
			Expect(err).NotTo(HaveOccurred())
			task, err := root.(*object.Folder).MoveInto(ctx, []types.ManagedObjectReference{place.vm(ctx, spec, request("moved").Name).Self})
			Expect(err).NotTo(HaveOccurred())
			Expect(task.Wait(ctx)).To(Succeed())
			disturb(ctx, control.Settings{Task: 15 * time.Second})
			_, err = part.Create(ctx, request("late"))
			Expect(err).NotTo(HaveOccurred(), "it goes on")

			restarted := machines.New(newSessions())
			Expect(platform.IsProgress(restarted.Delete(ctx, request("late")))).To(BeTrue(), "it would appear later")
			Expect(platf.Delete(ctx, s, persist)).NotTo(Succeed())
			Expect(exists(ctx, status.Zones[0].FolderPath)).To(BeTrue())
			Expect(server.Set(ctx, control.Settings{})).To(Succeed())
			Eventually(func(ctx SpecContext) error {
				return platf.Delete(ctx, s,
					persist)
			}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
			Expect(exists(ctx, "/DC0/vm/"+request("moved").Name)).To(BeFalse())
			deleteAll(ctx)
		}, NodeTimeout(8*time.Minute))

	It("should not take the end of its session for that of a deletion", func(ctx SpecContext) {
		reconcile(ctx)
		disturb(ctx, control.Settings{Task: 5 * time.Second})
		count(ctx)
		deleted := make(chan error, 1)
		go func() { deleted <- platf.Delete(ctx, s, persist) }()
		Eventually(count).WithContext(ctx).Within(time.Minute).Should(HaveKey("vim25 Destroy_Task"))
		Expect(server.EndSessions(ctx)).To(Succeed())
		Eventually(deleted).WithContext(ctx).Within(2 * time.Minute).Should(Receive(Succeed()))
		for _, datacenter := range []string{"DC0", "DC1"} {
			Expect(exists(ctx, "/"+datacenter+"/vm/gardener/"+s.Shoot+".vc")).To(BeFalse())
		}
	}, NodeTimeout(4*time.Minute))

	It("should find its folder by ID when somebody renamed or moved it", func(ctx SpecContext) {
		first := reconcile(ctx)
		folder := object.NewFolder(inspector, types.ManagedObjectReference{Type: "Folder", Value: first.Zones[0].Folder})
		task, err := folder.Rename(ctx, s.Shoot+"-renamed")
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
		Expect(reconcile(ctx)).To(Equal(first))
		Expect(exists(ctx, "/DC0/vm/gardener/"+s.Shoot+".vc")).To(BeFalse(), "a second one was made")

		s.State.VSphere.Connection.InstanceUUID = ""
		Expect(reconcile(ctx)).To(Equal(first), "with the state of a former version")
		deleteAll(ctx)
		Expect(exists(ctx, "/DC0/vm/gardener/"+s.Shoot+"-renamed")).To(BeFalse())
	})

	It("should delete the rules of a cluster that a zone had", func(ctx SpecContext) {
		reconcile(ctx)
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/host/DC0_C0")
		Expect(err).NotTo(HaveOccurred())
		cluster := found.(*object.ClusterComputeResource)
		rule := &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Name: s.Shoot + ".vc.pool.dc0-a"}}
		add := types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}, Info: rule}
		task, err := cluster.Reconfigure(ctx, &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{add}}, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())

		s.Profile.Zones[0].VSphere.ComputeCluster = "DC0_C1"
		reconcile(ctx)
		deleteAll(ctx)
		configuration, err := cluster.Configuration(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(configuration.Rule).NotTo(ContainElement(HaveField("ClusterRuleInfo.Name", rule.Name)))
	})

	It("should touch nothing in another vCenter, and take over the state of a version that did not know which it is", func(ctx SpecContext) {
		first := reconcile(ctx)
		Expect(first.InstanceUUID).To(Equal(inspector.ServiceContent.About.InstanceUuid))
		Expect(s.State.VSphere.Connection.InstanceUUID).To(Equal(first.InstanceUUID))
		s.State.VSphere.Connection.InstanceUUID = ""
		Expect(reconcile(ctx)).To(Equal(first))
		Expect(s.State.VSphere.Connection.InstanceUUID).To(Equal(first.InstanceUUID))
		written := s.State.DeepCopy()

		disturb(ctx, control.Settings{InstanceUUID: "11111111-2222-3333-4444-555555555555"})
		restarted := infrastructure.New(newSessions())
		for _, other := range []platform.Infrastructure{restarted, platf} {
			Expect(server.EndSessions(ctx)).To(Succeed())
			count(ctx)
			_, err := other.Reconcile(ctx, s, persist)
			Expect(err).To(HaveOccurred())
			Expect(other.Delete(ctx, s, persist)).To(MatchError(And(ContainSubstring("nothing is touched"), ContainSubstring(first.InstanceUUID))))
			for method := range count(ctx) {
				Expect(method).NotTo(Or(ContainSubstring("Create"), ContainSubstring("Destroy"), ContainSubstring("?attach"),
					ContainSubstring("DELETE")))
			}
		}
		Expect(s.State).To(Equal(written))

		spec := &v1alpha1.MachineProviderSpec{Site: "vc", Shoot: s.Shoot, VSphere: &v1alpha1.VSphereMachineSpec{
			Connection: s.State.VSphere.Connection, Folder: "group-v0", FolderPath: "/DC0/vm/gone",
		}}
		r := platform.MachineRequest{Name: s.Shoot + "-m", Spec: spec, Credentials: siteCredentials()}
		part := machines.New(newSessions())
		Expect(part.Delete(ctx, r)).To(MatchError(ContainSubstring("nothing is touched")))
		spec.VSphere.Connection.InstanceUUID = ""
		Expect(part.Delete(ctx, r)).To(MatchError(ContainSubstring("it is not known which vCenter had it")))

		Expect(server.Set(ctx, control.Settings{})).To(Succeed())
		Expect(server.EndSessions(ctx)).To(Succeed())
		spec.VSphere.Connection.InstanceUUID = first.InstanceUUID
		Expect(machines.New(newSessions()).Delete(ctx, r)).To(Succeed(), "the folder is gone in the vCenter that had it")
		platf = restarted
		Expect(server.EndSessions(ctx)).To(Succeed())
		Eventually(func(ctx SpecContext) error { return platf.Delete(ctx, s, persist) }).WithContext(ctx).Within(time.Minute).Should(Succeed())
		deleteAll(ctx)
	})

	DescribeTable("should name what is missing, and the field that names it",
		func(ctx SpecContext, change func(*site.Site), path string, messages ...string) {
			change(s)
			_, err := platf.Reconcile(ctx, s, persist)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(err).To(MatchError(And(ContainSubstring(`site "vc"`), ContainSubstring(path), ContainSubstring(messages[0]))))

			findings, err := platf.Validate(ctx, s, platform.ValidationRequest{Path: field.NewPath("infrastructureConfig", "sites").Key("vc")})
			Expect(err).NotTo(HaveOccurred())
			Expect(strings.Split(findings.Err().Error(), "\n")).To(HaveLen(len(messages)))
			Expect(findings.Err()).To(MatchError(ContainSubstring(path + ": Invalid value: ")))
			for _, message := range messages {
				Expect(findings.Err()).To(MatchError(ContainSubstring(message)))
			}
		},
		Entry("datacenter", func(s *site.Site) { s.Profile.Zones[2].VSphere.Datacenter = "DC7" },
			"cloudProfileConfig.sites[vc].zones[dc1-a].vsphere.datacenter", `datacenter "/DC7" does not exist`),
		Entry("the site's datacenter", func(s *site.Site) {
			s.Profile.VSphere.Datacenter = "DC7"
			for i := range s.Profile.Zones {
				s.Profile.Zones[i].VSphere.Datacenter = ""
			}
		}, "cloudProfileConfig.sites[vc].vsphere.datacenter", `datacenter "/DC7" does not exist`),
		Entry("cluster", func(s *site.Site) { s.Profile.Zones[0].VSphere.ComputeCluster = "C9" },
			"cloudProfileConfig.sites[vc].zones[dc0-a].vsphere.computeCluster", `compute cluster "/DC0/host/C9" does not exist`),
		Entry("resource pool", func(s *site.Site) { s.Profile.Zones[0].VSphere.ResourcePool = "p" },
			"cloudProfileConfig.sites[vc].zones[dc0-a].vsphere.resourcePool", `resource pool "/DC0/host/DC0_C0/Resources/p" does not exist`),
		Entry("datastore", func(s *site.Site) { s.Profile.Zones[1].VSphere.Datastore = "vsan" },
			"cloudProfileConfig.sites[vc].zones[dc0-b].vsphere.datastore", `datastore "/DC0/datastore/vsan" does not exist`),
		Entry("network", func(s *site.Site) { s.Profile.Zones[3].VSphere.Network = "nodes" },
			"cloudProfileConfig.sites[vc].zones[dc1-b].vsphere.network", `network "/DC1/network/nodes" does not exist`),
		Entry("the shoot's network", func(s *site.Site) { s.Config.VSphere = &v1alpha1.VSphereInfrastructure{Network: "mine"} },
			"infrastructureConfig.sites[vc].vsphere.network", `network "/DC0/network/mine" does not exist`,
			`network "/DC1/network/mine" does not exist`),
		Entry("folder", func(s *site.Site) { s.Profile.VSphere.Folder = "a/b" },
			"cloudProfileConfig.sites[vc].vsphere.folder", `folder "/DC0/vm/a/b" does not exist`, `folder "/DC1/vm/a/b" does not exist`),
		Entry("storage policy", func(s *site.Site) {
			s.Profile.Zones[0].VSphere.Datastore, s.Profile.Zones[0].VSphere.StoragePolicy = "", "gold"
		}, "cloudProfileConfig.sites[vc].zones[dc0-a].vsphere.storagePolicy", `"gold"`),
		Entry("two things at once", func(s *site.Site) {
			s.Profile.Zones[0].VSphere.ComputeCluster, s.Profile.Zones[3].VSphere.Datastore = "C9", "vsan"
		}, "cloudProfileConfig.sites[vc].zones[dc1-b].vsphere.datastore", `datastore "/DC1/datastore/vsan"`, `compute cluster "/DC0/host/C9"`),
	)

	It("should find nothing to complain about at a site that is right", func(ctx SpecContext) {
		findings, err := platf.Validate(ctx, s, platform.ValidationRequest{Path: field.NewPath("sites").Index(0)})
		Expect(err).NotTo(HaveOccurred())
		Expect(findings.Found).To(BeEmpty())
	})

	validate := func(ctx context.Context, demands ...platform.Demand) []string {
		GinkgoHelper()
		findings, err := platf.Validate(ctx, s, platform.ValidationRequest{Path: field.NewPath("sites").Index(0), Demands: demands})
		Expect(err).NotTo(HaveOccurred())
		var found []string
		for i := range findings.Found {
			found = append(found, findings.Found[i].Check.ID+" "+string(findings.Found[i].State)+" "+findings.Found[i].Message())
		}
		return found
	}
	demand := func() platform.Demand {
		return platform.Demand{
			Pool: "pool", Path: field.NewPath("pools").Index(0), MachineTypeName: "small", Minimum: 1, Maximum: 2,
			Capacity:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
			Image:      &v1alpha1.SiteMachineImage{VSphere: &v1alpha1.VSphereImage{Template: vcenter.Template}},
			VolumeSize: 25,
			Zones:      []platform.ZoneDemand{{Name: "dc0-a", Minimum: 1, Maximum: 2}},
			Settings:   v1alpha1.WorkerSite{VSphere: &v1alpha1.VSphereWorker{AntiAffinity: true}},
		}
	}

	It("should find nothing to complain about in a pool that is right", func(ctx SpecContext) {
		Expect(validate(ctx, demand())).To(BeEmpty())
	})

	DescribeTable("should find what a pool lacks", func(ctx SpecContext, change func(*platform.Demand), message string) {
		d := demand()
		change(&d)
		Expect(validate(ctx, d)).To(ContainElement(HavePrefix(message)))
	},
		Entry("a template", func(d *platform.Demand) { d.Image.VSphere.Template = "absent" },
			`vsphere-template Failed pools[0].machine.image: Invalid value: "/DC0/vm/absent": template "/DC0/vm/absent" does not exist`),
		Entry("a template in a zone", func(d *platform.Demand) {
			d.Image.VSphere.Zones = []v1alpha1.VSphereImageZone{{Name: "dc0-a", Template: "absent"}}
		}, `vsphere-template Failed`),
		Entry("a host that is large enough", func(d *platform.Demand) { d.Capacity[corev1.ResourceCPU] = resource.MustParse("4096") },
			`vsphere-machine-type Failed pools[0].machine.type: Invalid value: "small": no host in zone "dc0-a" is large enough for 4096 CPUs`),
		Entry("space", func(d *platform.Demand) { d.VolumeSize = 1 << 20 },
			`vsphere-datastore-space Warning cloudProfileConfig.sites[vc].zones[dc0-a].vsphere.datastore: datastore "LocalDS_0"`),
		Entry("a storage policy", func(d *platform.Demand) {
			d.VolumeType = &v1alpha1.SiteVolumeType{VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "gold"}}
		}, `vsphere-volume-policies Failed pools[0].volume.type: Invalid value: "gold": storage policy "gold" does not exist`),
		Entry("a tag", func(d *platform.Demand) { d.Settings.VSphere.Tags = []string{"billing/absent"} },
			`vsphere-tags Failed pools[0].providerConfig.sites[vc].vsphere.tags: Invalid value: "billing/absent": tag "billing/absent": `),
	)

	It("should find hosts that cannot run machines, and do not have what a zone needs", func(ctx SpecContext) {
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/host/DC0_C0")
		Expect(err).NotTo(HaveOccurred())
		hosts, err := object.NewClusterComputeResource(inspector, found.Reference()).Hosts(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, host := range hosts {
			task, err := host.EnterMaintenanceMode(ctx, 0, false, nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(task.Wait(ctx)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				task, err := host.ExitMaintenanceMode(ctx, 0)
				Expect(err).NotTo(HaveOccurred())
				Expect(task.Wait(ctx)).To(Succeed())
			})
		}
		Expect(validate(ctx, demand())).To(ConsistOf(
			HavePrefix("vsphere-hosts Failed cloudProfileConfig.sites[vc].zones[dc0-a].vsphere.computeCluster: "),
			HavePrefix("vsphere-network Unknown not checked, because vsphere-hosts failed"), HavePrefix("vsphere-datastore Unknown"),
			HavePrefix("vsphere-resource-pool Unknown"),
			HavePrefix("vsphere-datastore-space Unknown"), HavePrefix("vsphere-policy-datastores Unknown"), HavePrefix("vsphere-drs Unknown"),
			HavePrefix("vsphere-machine-type Unknown")))
	})

	It("should compare the limit of a resource pool with the memory of machines", func(ctx SpecContext) {
		parent, err := find.NewFinder(inspector).ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
		Expect(err).NotTo(HaveOccurred())
		spec := types.DefaultResourceConfigSpec()
		spec.MemoryAllocation.Limit = new(int64(1024))
		pool, err := parent.Create(ctx, "limited", spec)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			task, err := pool.Destroy(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(task.Wait(ctx)).To(Succeed())
		})
		s.Profile.Zones[0].VSphere.ResourcePool = "limited"
		Expect(validate(ctx, demand())).To(BeEmpty())
		Expect(validate(ctx, demand(), demand())).To(ConsistOf(HavePrefix(`vsphere-resource-pool Warning ` +
			`cloudProfileConfig.sites[vc].zones[dc0-a].vsphere.resourcePool: the resource pool has a limit of 1024 MiB memory`)))
	})

	It("should find storage policies of storage classes", func(ctx SpecContext) {
		s.Profile.StorageClasses = []v1alpha1.StorageClass{{Name: "fast", VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: "gold"}}}
		Expect(validate(ctx)).To(ConsistOf(HavePrefix(`vsphere-volume-policies Warning ` +
			`cloudProfileConfig.sites[vc].storageClasses[fast].vsphere.storagePolicy: storage policy "gold" does not exist`)))
	})

	DescribeTable("should find privileges that the credentials lack", func(ctx SpecContext, privilege, object string) {
		disturb(ctx, control.Settings{Denied: []string{privilege}})
		s.Profile.VSphere.Topology = &v1alpha1.VSphereTopology{RegionCategory: "region", ZoneCategory: "zone", Create: true}
		Expect(validate(ctx, demand())).To(ContainElement(HavePrefix("vsphere-privileges Failed secret.data[vc.username]: Forbidden: " +
			"the credentials lack the privileges " + privilege + " on " + object)))
	},
		Entry("on the folder", "VirtualMachine.Provisioning.DeployTemplate", "folder /DC0/vm/gardener"),
		Entry("to attach tags", "InventoryService.Tagging.ObjectAttachable", "datacenter /DC0"),
		Entry("to change rules", "Host.Inventory.EditCluster", "the cluster of zone dc0-a"),
	)

	DescribeTable("should stop at a vCenter that cannot be used", func(ctx SpecContext, change func(), message string) {
		change()
		findings, _ := platf.Validate(ctx, s, platform.ValidationRequest{Path: field.NewPath("sites").Index(0)})
		found := slices.DeleteFunc(findings.Found, func(f platform.Finding) bool { return f.Cause != "" })
		Expect(found).To(HaveLen(1))
		Expect(found[0].Check.ID + " " + string(found[0].State) + " " + found[0].Message()).To(HavePrefix(message))
	},
		Entry("has another certificate", func() { s.Profile.TLS = nil },
			`vsphere-connection Failed cloudProfileConfig.sites[vc].tls: site "vc": `),
		Entry("is away", func() { s.Profile.VSphere.Server = "https://127.0.0.1:1" },
			`vsphere-connection Unknown cloudProfileConfig.sites[vc].vsphere.server: site "vc": `),
		Entry("is another server", func() {
			other := httptest.NewServer(http.NotFoundHandler())
			DeferCleanup(other.Close)
			s.Profile.VSphere.Server, s.Profile.TLS = other.URL, nil
		}, `vsphere-connection Failed cloudProfileConfig.sites[vc].vsphere.server: site "vc": vsphere.server "http://127.0.0.1`),
		Entry("refuses the credentials", func() { s.Credentials["password"] = "another" },
			`vsphere-authentication Failed secret.data[vc.password]: site "vc": `),
	)

	It("should find tags that the CSI driver needs and nobody creates", func(ctx SpecContext) {
		s.Profile.VSphere.Topology = &v1alpha1.VSphereTopology{RegionCategory: "region-" + s.Shoot, ZoneCategory: "zone-" + s.Shoot}
		Expect(validate(ctx)).To(ConsistOf(HavePrefix(
			`vsphere-topology Failed cloudProfileConfig.sites[vc].vsphere.topology: Invalid value: "vc": tag category "region-` + s.Shoot)))
	})

	It("should make the tags that the CSI driver reads only if it is allowed to, and leave them", func(ctx SpecContext) {
		region, zone := "region-"+s.Shoot, "zone-"+s.Shoot
		s.Profile.VSphere.Topology = &v1alpha1.VSphereTopology{RegionCategory: region, ZoneCategory: zone}
		for i := range s.Profile.Zones {
			s.Profile.Zones[i].VSphere.TopologyTag = s.Profile.Zones[i].Name
		}
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(err).To(MatchError(ContainSubstring(`tag category "` + region + `" does not exist`)))

		s.Profile.VSphere.Topology.Create = true
		reconcile(ctx)
		Expect(tagNames(ctx, region)).To(ConsistOf("west"))
		Expect(tagNames(ctx, zone)).To(ConsistOf("dc0-a", "dc0-b", "dc1-a", "dc1-b"))

		s.Profile.VSphere.Topology.Create = false
		reconcile(ctx)
		cluster, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/host/DC0_C0")
		Expect(err).NotTo(HaveOccurred())
		attached, err := manager.GetAttachedTags(ctx, cluster.Reference())
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.ContainsFunc(attached, func(t tags.Tag) bool { return t.Name == "dc0-a" })).To(BeTrue())

		deleteAll(ctx)
		Expect(tagNames(ctx, zone)).To(HaveLen(4))
	})

	It("should say that it cannot get in when the password has changed", func(ctx SpecContext) {
		disturb(ctx, control.Settings{Password: "another"})
		_, err := platf.Reconcile(ctx, s, persist)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		Expect(err.Error()).NotTo(ContainSubstring(vcenter.Password))
		Expect(platf.Delete(ctx, s, persist)).To(MatchError(platform.ErrNoAccess))
	})
})

// newSite returns a site with two zones in each of two datacenters.
func newSite(shoot string) *site.Site {
	profile := &v1alpha1.CloudProfileSite{
		Name:    "vc",
		Region:  "west",
		TLS:     &v1alpha1.TLS{CACert: server.CA},
		VSphere: &v1alpha1.VSphereProfile{Server: "https://" + server.Address, Datacenter: "DC0", Folder: "gardener"},
	}
	for _, z := range []struct{ name, datacenter, cluster, datastore string }{
		{"dc0-a", "DC0", "DC0_C0", "LocalDS_0"},
		{"dc0-b", "DC0", "DC0_C1", "LocalDS_1"},
		{"dc1-a", "DC1", "DC1_C0", "LocalDS_0"},
		{"dc1-b", "DC1", "DC1_C1", "LocalDS_1"},
	} {
		profile.Zones = append(profile.Zones, v1alpha1.SiteZone{Name: z.name, VSphere: &v1alpha1.VSphereZone{
			Datacenter: z.datacenter, ComputeCluster: z.cluster, Datastore: z.datastore, Network: "VM Network",
		}})
	}
	return &site.Site{
		Name:        "vc",
		Platform:    v1alpha1.PlatformVSphere,
		Shoot:       shoot,
		Profile:     profile,
		Config:      &v1alpha1.InfrastructureSite{Name: "vc"},
		Credentials: siteCredentials(),
	}
}

// makeParentFolders makes the folders below which shoots have theirs.
func makeParentFolders(ctx context.Context) {
	GinkgoHelper()
	for _, datacenter := range []string{"DC0", "DC1"} {
		root, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/"+datacenter+"/vm")
		Expect(err).NotTo(HaveOccurred())
		if _, err = root.(*object.Folder).CreateFolder(ctx, "gardener"); !vsphereclient.IsDuplicateName(err) {
			Expect(err).NotTo(HaveOccurred())
		}
	}
}

// tagManager returns an access to tags of its own.
func tagManager(ctx context.Context) *tags.Manager {
	GinkgoHelper()
	client := rest.NewClient(inspector)
	Expect(client.Login(ctx, url.UserPassword(vcenter.Username, vcenter.Password))).To(Succeed())
	return tags.NewManager(client)
}
