// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vapi/tags"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	vsphereclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

var _ = Describe("MachineClasses", Ordered, func() {
	const policy = "vSAN Default Storage Policy"

	var (
		sessions *vsphereclient.Sessions
		request  platform.MachineClassRequest
		base     platform.MachineClassRequest
		daily    string
	)

	BeforeAll(func(ctx SpecContext) {
		makeParentFolders(ctx)
		manager := tagManager(ctx)
		category, err := manager.CreateCategory(ctx,
			&tags.Category{Name: "backup", Cardinality: "SINGLE", AssociableTypes: []string{"VirtualMachine"}})
		Expect(err).NotTo(HaveOccurred())
		daily, err = manager.CreateTag(ctx, &tags.Tag{Name: "daily", CategoryID: category})
		Expect(err).NotTo(HaveOccurred())

		sessions = newSessions()
		s := newSite("shoot--it--" + rand.String(5))
		status, err := infrastructure.New(sessions).Reconcile(ctx, s, func(context.Context, *v1alpha1.SiteState) error { return nil })
		Expect(err).NotTo(HaveOccurred())
		base = platform.MachineClassRequest{
			Site:   s,
			Status: status,
			Zone:   &s.Profile.Zones[2],
			MachineType: &v1alpha1.SiteMachineType{Name: "vc",
				VSphere: &v1alpha1.VSphereMachineType{MemoryReservationLockedToMax: true, ExtraConfig: map[string]string{"a": "1", "b": "1"}}},
			Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
			Image:    &v1alpha1.SiteMachineImage{Name: "vc", VSphere: &v1alpha1.VSphereImage{Template: vcenter.Template}},
			Pool:     "p",
		}
	})

	BeforeEach(func() { request = base })

	resolve := func(ctx context.Context) (*v1alpha1.VSphereMachineSpec, error) {
		spec := &v1alpha1.MachineProviderSpec{}
		err := machineclasses.New(sessions).Resolve(ctx, request, spec)
		return spec.VSphere, err
	}

	It("should resolve everything to IDs", func(ctx SpecContext) {
		spec, err := resolve(ctx)
		Expect(err).NotTo(HaveOccurred())
		zone := request.Status.VSphere.Zones[2]
		Expect(spec.Template).To(HavePrefix("vm-"))
		Expect(*spec).To(And(
			HaveField("Datacenter", zone.Datacenter), HaveField("ComputeCluster", zone.ComputeCluster), HaveField("ResourcePool", zone.ResourcePool),
			HaveField("Folder", zone.Folder), HaveField("FolderPath", zone.FolderPath), HaveField("Network", zone.Network), HaveField("Datastore",
				zone.Datastore),
			HaveField("CPUs", int32(4)), HaveField("MemoryMiB", int64(16384)), HaveField("MemoryReservationLockedToMax", true),
			HaveField("TagIDs", []string{request.Status.VSphere.OwnerTagID}), HaveField("AntiAffinityRule", ""), HaveField("StoragePolicyID", ""),
		))
	})

	It("should take the template of the zone, and of the datacenter of the zone", func(ctx SpecContext) {
		other, err := resolve(ctx)
		Expect(err).NotTo(HaveOccurred())
		request.Zone = &request.Site.Profile.Zones[0]
		spec, err := resolve(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Template).NotTo(Equal(other.Template))

		request.Image = &v1alpha1.SiteMachineImage{VSphere: &v1alpha1.VSphereImage{Template: "missing",
			Zones: []v1alpha1.VSphereImageZone{{Name: "dc0-a", Template: "/DC1/vm/" + vcenter.Template}}}}
		spec, err = resolve(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.Template).To(Equal(other.Template))
	})

	It("should take over the settings of the pool", func(ctx SpecContext) {
		request.Settings = v1alpha1.WorkerSite{VSphere: &v1alpha1.VSphereWorker{AntiAffinity: true, ExtraConfig: map[string]string{"b": "2"},
			Tags: []string{"backup/daily"}}}
		spec, err := resolve(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.ExtraConfig).To(Equal(map[string]string{"a": "1", "b": "2"}))
		Expect(spec.TagIDs).To(Equal([]string{request.Status.VSphere.OwnerTagID, daily}))
		Expect(spec.AntiAffinityRule).To(Equal(request.Site.Shoot + ".vc.p.dc1-a"))
	})

	It("should resolve storage policies of volumes", func(ctx SpecContext) {
		volumeType := &v1alpha1.SiteVolumeType{Name: "vc", VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: policy}}
		request.VolumeType, request.VolumeSize = volumeType, 50
		request.DataVolumes = []platform.DataVolume{{Name: "plain", Size: 10}, {Name: "typed", Size: 20, Type: volumeType}}
		spec, err := resolve(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(spec.RootDiskGiB).To(Equal(50))
		Expect(spec.Datastore).To(BeEmpty())
		Expect(spec.StoragePolicyID).NotTo(BeEmpty())
		Expect(spec.DataDisks).To(Equal([]v1alpha1.VSphereDataDisk{{Name: "plain", SizeGiB: 10},
			{Name: "typed", SizeGiB: 20, StoragePolicyID: spec.StoragePolicyID}}))

		request.DataVolumes[1].Settings = v1alpha1.WorkerDataVolumeSite{VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: "gold"}}
		_, err = resolve(ctx)
		Expect(err).To(MatchError(And(ContainSubstring(`data volume "typed"`), ContainSubstring(`"gold"`))))
	})

	DescribeTable("should name what is missing", func(ctx SpecContext, change func(), message string) {
		change()
		_, err := resolve(ctx)
		Expect(err).To(MatchError(And(ContainSubstring(`site "vc"`), ContainSubstring(message))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	},
		Entry("template", func() { request.Image = &v1alpha1.SiteMachineImage{VSphere: &v1alpha1.VSphereImage{Template: "x"}} },
			`template "/DC1/vm/x" does not exist`),
		Entry("tag", func() { request.Settings.VSphere = &v1alpha1.VSphereWorker{Tags: []string{"backup/weekly"}} },
			`tag "backup/weekly" does not exist`),
		Entry("category", func() { request.Settings.VSphere = &v1alpha1.VSphereWorker{Tags: []string{"none/weekly"}} },
			`category "none" does not exist`),
		Entry("zone", func() { request.Zone = &v1alpha1.SiteZone{Name: "new", VSphere: &v1alpha1.VSphereZone{}} },
			"providerStatus has no such zone"),
		Entry("image", func() { request.Image = &v1alpha1.SiteMachineImage{} }, "no vsphere block"),
		Entry("size", func() { request.Capacity = nil }, "no cpu or memory"),
	)

	It("should roll for what changes machines", func() {
		classes := machineclasses.New(sessions)
		before := classes.RollsFor(request)
		Expect(classes.RollsFor(request)).To(Equal(before))
		request.Settings.VSphere = &v1alpha1.VSphereWorker{Tags: []string{"backup/daily"}, AntiAffinity: true}
		Expect(classes.RollsFor(request)).To(Equal(before))
		request.Settings.VSphere.ExtraConfig = map[string]string{"b": "2"}
		Expect(classes.RollsFor(request)).NotTo(Equal(before))
	})
})
