// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Disks and hosts of machines", Ordered, func() {
	var (
		shoot           string
		part            platform.Machines
		spec, huge      *v1alpha1.MachineProviderSpec
		compute, volume *gophercloud.ServiceClient
	)

	BeforeAll(func(ctx SpecContext) {
		sessions := newSessions()
		var resolve resolveFlavor
		shoot, resolve = newMachineSite(ctx, sessions)
		part = machines.New(sessions)
		spec, huge = resolve(ctx, "m1.tiny"), resolve(ctx, "m1.huge")

		provider := signedIn(ctx)
		var err error
		compute, err = gopheropenstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
		volume, err = gopheropenstack.NewBlockStorageV3(provider, gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
	})

	BeforeEach(func() {
		DeferCleanup(func(ctx SpecContext) { deleteMachines(ctx, spec) })
	})

	// request is one of a caller that does not come again, for whom deletions wait longer: the cloud is busy with other tests, too.
	request := func(name string) platform.MachineRequest {
		return platform.MachineRequest{Name: shoot + "-" + name, Spec: spec.DeepCopy(), Credentials: siteCredentials(), Once: true}
	}
	status := func(ctx SpecContext, r platform.MachineRequest) string {
		s, err := servers.Get(ctx, compute, strings.TrimPrefix(r.ProviderID, "openstack:///")).Extract()
		if gophercloud.ResponseCodeIs(err, 404) {
			return ""
		}
		Expect(err).NotTo(HaveOccurred())
		if s.Status == "DELETED" {
			return ""
		}
		return s.Status
	}
	running := func(ctx SpecContext, r platform.MachineRequest) {
		GinkgoHelper()
		Eventually(status).WithContext(ctx).WithArguments(r).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Equal("ACTIVE"))
	}
	volumesOf := func(ctx SpecContext, r platform.MachineRequest) []volumes.Volume {
		GinkgoHelper()
		page, err := volumes.List(volume, volumes.ListOpts{}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := volumes.ExtractVolumes(page)
		Expect(err).NotTo(HaveOccurred())
		return slices.DeleteFunc(found, func(v volumes.Volume) bool {
			return !slices.ContainsFunc(v.Attachments, func(a volumes.Attachment) bool { return strings.HasSuffix(r.ProviderID, a.ServerID) })
		})
	}
	volumeStatus := func(ctx SpecContext, id string) string {
		v, err := volumes.Get(ctx, volume, id).Extract()
		if gophercloud.ResponseCodeIs(err, 404) {
			return ""
		}
		Expect(err).NotTo(HaveOccurred())
		return v.Status
	}

	DescribeTable("should make and delete the volumes of a machine",
		func(ctx SpecContext, name string, rootDisk *v1alpha1.OpenStackRootDisk, dataDisks []v1alpha1.OpenStackDataDisk) {
			r := request(name)
			r.Spec.OpenStack.RootDisk, r.Spec.OpenStack.DataDisks = rootDisk, dataDisks
			requests := label("create")
			created, err := part.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			Expect(requests()).To(HaveLen(3))
			Expect(created.Addresses).To(HaveLen(2))
			r.ProviderID = created.ProviderID
			running(ctx, r)

			var sizes, expected []int
			if rootDisk != nil {
				expected = append(expected, rootDisk.Size)
			}
			for _, disk := range dataDisks {
				expected = append(expected, disk.Size)
			}
			made := volumesOf(ctx, r)
			for _, v := range made {
				sizes = append(sizes, v.Size)
				Expect(v.VolumeType).To(Equal("fake-ssd"))
			}
			Expect(sizes).To(ConsistOf(expected))
			found, err := part.Get(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(Equal(created))

			requests = label("delete")
			start := time.Now()
			Expect(part.Delete(ctx, r)).To(Succeed())
			AddReportEntry("deletion", time.Since(start).String())
			own := slices.DeleteFunc(requests(), func(q countproxy.Request) bool {
				return strings.HasSuffix(q.Path, "/servers/detail") || q.Method == http.MethodGet &&
					strings.HasSuffix(q.Path, "/servers/"+path.Base(r.ProviderID))
			})
			Expect(own).To(HaveLen(2+len(made)), "server, port, and a look at each volume, beside those at the server until it is gone")
			Expect(status(ctx, r)).To(BeEmpty())
			for _, v := range made {
				Eventually(volumeStatus).WithContext(ctx).WithArguments(v.ID).Within(time.Minute).ProbeEvery(time.Second).Should(BeEmpty())
			}
		},
		Entry("a volume to boot from", "root", &v1alpha1.OpenStackRootDisk{Type: "fake-ssd", Size: 1}, nil),
		suite.NightlyEntries(
			Entry("the flavor's disk and data disks", "data", nil,
				[]v1alpha1.OpenStackDataDisk{{Name: "a", Type: "fake-ssd", Size: 1}, {Name: "b", Type: "fake-ssd", Size: 2}}),
			Entry("only volumes", "volumes", &v1alpha1.OpenStackRootDisk{Type: "fake-ssd", Size: 1},
				[]v1alpha1.OpenStackDataDisk{{Name: "a", Type: "fake-ssd", Size: 2}}),
		),
	)

	suite.NightlyIt("should not lose a volume that the volume service does not delete with its server", func(ctx SpecContext) {
		r := request("left")
		r.Spec.OpenStack.RootDisk = &v1alpha1.OpenStackRootDisk{Type: "fake-ssd", Size: 1}
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		running(ctx, r)
		root := volumesOf(ctx, r)[0].ID
		snapshot, err := snapshots.Create(ctx, volume, snapshots.CreateOpts{VolumeID: root, Force: true, Name: r.Name}).Extract()
		Expect(err).NotTo(HaveOccurred())

		for range 2 {
			err = part.Delete(ctx, r)
			Expect(err).To(MatchError(And(ContainSubstring("volume "+root), ContainSubstring("snapshot"))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
			Expect(status(ctx, r)).To(BeEmpty())
			Expect(volumeStatus(ctx, root)).To(Equal("available"))
		}

		Expect(snapshots.Delete(ctx, volume, snapshot.ID).ExtractErr()).To(Succeed())
		Eventually(part.Delete).WithContext(ctx).WithArguments(r).Within(time.Minute).ProbeEvery(time.Second).Should(Succeed())
		Eventually(volumeStatus).WithContext(ctx).WithArguments(root).Within(time.Minute).ProbeEvery(time.Second).Should(BeEmpty())
	})

	It("should leave a foreign volume and a foreign server with the name of a machine alone", func(ctx SpecContext) {
		r := request("foreign")
		foreign, err := volumes.Create(ctx, volume, volumes.CreateOpts{Name: r.Name, Size: 1}, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(volumes.Delete(ctx, volume, foreign.ID, nil).ExtractErr()).To(Succeed()) })
		namesake, err := servers.Create(ctx, compute, servers.CreateOpts{
			Name: r.Name, FlavorRef: spec.OpenStack.FlavorID, ImageRef: spec.OpenStack.ImageID,
			Networks: []servers.Network{{UUID: spec.OpenStack.NetworkID}},
		}, nil).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(servers.Delete(ctx, compute, namesake.ID).ExtractErr()).To(Succeed()) })

		Expect(part.Delete(ctx, r)).To(Succeed(), "a machine without an ID")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(created.ProviderID).NotTo(HaveSuffix(namesake.ID))
		r.ProviderID = created.ProviderID
		running(ctx, r)
		_, err = volumeattach.Create(ctx, compute, strings.TrimPrefix(r.ProviderID, "openstack:///"),
			volumeattach.CreateOpts{VolumeID: foreign.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Eventually(volumeStatus).WithContext(ctx).WithArguments(foreign.ID).Within(time.Minute).ProbeEvery(time.Second).Should(Equal("in-use"))

		Expect(part.List(ctx, r)).To(ConsistOf(HaveField("ProviderID", r.ProviderID)))
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(volumeStatus(ctx, foreign.ID)).To(Equal("available"))
		Expect(servers.Get(ctx, compute, namesake.ID).Err).NotTo(HaveOccurred())
		r.ProviderID = "openstack:///" + namesake.ID
		Expect(platform.ClassOf(part.Delete(ctx, r))).To(Equal(platform.ClassConflict))
	})

	It("should tell within seconds that no host can take a server, and leave nothing of it", func(ctx SpecContext) {
		r := request("no-host")
		r.Spec = huge
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		// A compute API that is busy does not answer within the moment for which a new server is watched.
		Eventually(ctx, func() error {
			err = part.Initialize(ctx, r)
			return err
		}, 30*time.Second).Should(MatchError(ContainSubstring("No valid host")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		_, err = part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))

		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(status(ctx, r)).To(BeEmpty())
		Expect(portsOf(ctx, r.Name)).To(BeEmpty())
	})

	suite.NightlyIt("should lose nothing while the credentials are refused, and go on by itself", func(ctx SpecContext) {
		r := request("refused")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		running(ctx, r)
		Expect(proxy.SetFaults(countproxy.Fault{Action: countproxy.ActionStatus, Status: http.StatusUnauthorized})).To(Succeed())
		requests := label("refused")
		fresh := machines.New(newSessions())
		for _, m := range []platform.Machines{part, fresh} {
			Expect(platform.ClassOf(m.Delete(ctx, r))).To(Equal(platform.ClassUnauthenticated))
		}
		Expect(requests()).NotTo(ContainElement(And(HaveField("Method", "DELETE"), HaveField("Status", BeNumerically("<", 400)))))
		Expect(proxy.SetFaults()).To(Succeed())
		Expect(status(ctx, r)).To(Equal("ACTIVE"))
		for _, m := range []platform.Machines{part, fresh} {
			Expect(m.Get(ctx, r)).To(HaveField("ProviderID", r.ProviderID))
		}
	})
})
