// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// witness remembers what the platform was asked.
type witness struct {
	platform.MachineClasses
	requests chan platform.MachineClassRequest
}

func (w *witness) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	w.requests <- request
	return w.MachineClasses.Resolve(ctx, request, spec)
}

var _ = Describe("What a platform is asked", func() {
	var (
		f    *fixture
		pool *extensionsv1alpha1.WorkerPool
	)

	BeforeEach(func() {
		f = newFixture("shoot--p--s")
		pool = f.pool("a", "cloud-b")
		f.profile.VolumeTypes = []v1alpha1.VolumeType{{Name: "fast", Sites: []v1alpha1.SiteVolumeType{
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}},
		}}}
	})

	ask := func(ctx SpecContext) (platform.MachineClassRequest, error) {
		w := &witness{MachineClasses: toyplatform.NewMachineClasses(f.cloud), requests: make(chan platform.MachineClassRequest, 1)}
		if err := f.resolve(ctx, w, time.Minute, former{})[0].err; err != nil {
			return platform.MachineClassRequest{}, err
		}
		return <-w.requests, nil
	}

	It("has the zone, the pool, its settings for the site and its volumes", func(ctx SpecContext) {
		settings := v1alpha1.WorkerSite{Name: "cloud", OpenStack: &v1alpha1.OpenStackWorker{AdditionalSecurityGroups: []string{"db"}}}
		override := v1alpha1.WorkerDataVolumeSite{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "nvme"}}
		pool.Volume = &extensionsv1alpha1.Volume{Size: "50Gi", Type: new("fast")}
		pool.DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "20Gi", Type: new("fast")}, {Name: "tmp", Size: "30Gi"},
			{Name: "db", Size: "5Gi"}}
		pool.ProviderConfig = mustEncode(&v1alpha1.WorkerConfig{
			Sites: []v1alpha1.WorkerSite{{Name: "racks"}, settings},
			DataVolumes: []v1alpha1.WorkerDataVolume{
				{Name: "db", Sites: []v1alpha1.WorkerDataVolumeSite{{Name: "racks"}, override}},
				{Name: "tmp", Sites: []v1alpha1.WorkerDataVolumeSite{{Name: "racks", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "other"}}}},
			},
		})

		request, err := ask(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(request.Site.Name).To(Equal("cloud"))
		Expect(request.Zone.Name).To(Equal("cloud-b"), "two zones differ in what the platform is asked")
		Expect(request.Pool).To(Equal("a"), "also if the pool has no label with its name")
		Expect(request.Settings).To(Equal(settings))
		Expect(request.VolumeType.OpenStack.Type).To(Equal("ssd"))
		Expect(request.VolumeSize).To(Equal(50))
		ssd := &v1alpha1.SiteVolumeType{Name: "cloud", OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}}
		Expect(request.DataVolumes).To(HaveExactElements(
			platform.DataVolume{Name: "logs", Size: 20, Type: ssd},
			platform.DataVolume{Name: "tmp", Size: 30},
			platform.DataVolume{Name: "db", Size: 5, Settings: override},
		))
	})

	DescribeTable("is nothing if a volume is wrong",
		func(ctx SpecContext, change func(), message string) {
			change()
			_, err := ask(ctx)
			Expect(err).To(MatchError(ContainSubstring(message)))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("encrypted", func() { pool.Volume = &extensionsv1alpha1.Volume{Size: "50Gi", Encrypted: new(true)} },
			`site "cloud": volume: encrypted is not supported`),
		Entry("type", func() { pool.Volume = &extensionsv1alpha1.Volume{Size: "50Gi", Type: new("slow")} },
			`volume: the CloudProfile does not have volume type "slow" on the site`),
		Entry("encrypted data volume", func() {
			pool.DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "50Gi", Encrypted: new(true)}}
		}, "data volume logs: encrypted is not supported"),
		Entry("size of a data volume", func() { pool.DataVolumes = []extensionsv1alpha1.DataVolume{{Name: "logs", Size: "big"}} },
			`data volume logs: size "big"`),
	)

	DescribeTable("is for the image flavor of the site that fits the machine type best",
		func(ctx SpecContext, capabilities gardencorev1beta1.Capabilities, expected string) {
			f.cluster.CloudProfile.Spec.MachineCapabilities = append(f.cluster.CloudProfile.Spec.MachineCapabilities,
				gardencorev1beta1.CapabilityDefinition{Name: "boot", Values: []string{"uefi", "bios"}})
			f.cluster.CloudProfile.Spec.MachineTypes[0].Capabilities = capabilities
			flavor := func(architecture, boot string) v1alpha1.MachineImageFlavor {
				return v1alpha1.MachineImageFlavor{
					Capabilities: map[string][]string{"architecture": {architecture}, "boot": {boot}},
					Sites:        []v1alpha1.SiteMachineImage{{Name: "cloud", Blocks: toyapi.Blocks(&toyapi.Image{URL: architecture + "-" + boot})}},
				}
			}
			f.profile.MachineImages[0].Versions[0].CapabilityFlavors = []v1alpha1.MachineImageFlavor{flavor("arm64", "uefi"),
				flavor("amd64", "bios"), flavor("amd64", "uefi")}

			request, err := ask(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(toyapi.Of[toyapi.Image](request.Image.Blocks).URL).To(Equal(expected))
		},
		Entry("of the same architecture and the preferred boot mode", gardencorev1beta1.Capabilities{"architecture": {"amd64"}}, "amd64-uefi"),
		Entry("of the boot mode that it has", gardencorev1beta1.Capabilities{"architecture": {"amd64"}, "boot": {"bios"}}, "amd64-bios"),
		Entry("of another architecture", gardencorev1beta1.Capabilities{"architecture": {"arm64"}}, "arm64-uefi"),
	)
})
