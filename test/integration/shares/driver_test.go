// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shares_test

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

var _ = Describe("Shares", func() {
	var name string

	BeforeEach(func() {
		name = "pv-" + shootID + "-" + rand.String(5)
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			for _, share := range named(ctx, name) {
				_, err := driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: share.ID, Secrets: secrets})
				Expect(err).NotTo(HaveOccurred())
			}
		}, NodeTimeout(2*time.Minute))
	})

	It("should be in the subnet of the nodes, open to them alone, grow, and go", func(ctx SpecContext) {
		answer, err := driver.CreateVolume(ctx, request(name, 2))
		Expect(err).NotTo(HaveOccurred())
		id := answer.Volume.VolumeId
		server, err := netip.ParseAddr(answer.Volume.VolumeContext["server"])
		Expect(err).NotTo(HaveOccurred())
		Expect(nodes.Contains(server)).To(BeTrue(), "Neutron gave the share server an address of the subnet")
		Expect(answer.Volume.VolumeContext["share"]).To(HavePrefix("/path/to/fake/share/"))
		Expect(named(ctx, name)).To(ConsistOf(And(HaveField("ID", id), HaveField("ShareNetworkID", network), HaveField("Size", 2),
			HaveField("ShareProto", "NFS"), HaveField("Metadata", HaveKeyWithValue("manila.csi.openstack.org/cluster", shootID)))))
		Expect(shares.ListAccessRights(ctx, manila, id).Extract()).To(ConsistOf(And(HaveField("AccessType", "ip"),
			HaveField("AccessTo", nodes.String()), HaveField("AccessLevel", "rw"), HaveField("State", "active"))))

		again, err := driver.CreateVolume(ctx, request(name, 2))
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Volume.VolumeContext).To(Equal(answer.Volume.VolumeContext))
		Expect(again.Volume.VolumeId).To(Equal(id))
		_, err = driver.CreateVolume(ctx, request(name, 3))
		Expect(status.Code(err)).To(Equal(codes.AlreadyExists))

		expanded, err := driver.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{VolumeId: id, Secrets: secrets,
			CapacityRange: &csi.CapacityRange{RequiredBytes: 4 << 30}})
		Expect(err).NotTo(HaveOccurred())
		Expect(expanded.CapacityBytes).To(BeEquivalentTo(4 << 30))
		Expect(named(ctx, name)).To(ConsistOf(HaveField("Size", 4)))
		remove(ctx, id)
		remove(ctx, id)
	})

	It("should be made once, whichever request gets no answer", func(ctx SpecContext) {
		for _, after := range []bool{false, true} {
			failures := 0
			for skip := 0; ; skip++ {
				Expect(proxy.SetFaults(countproxy.Fault{Service: "manila", Kind: countproxy.KindWrite, Skip: skip, Times: 1, After: after,
					Action: countproxy.ActionReset})).To(Succeed())
				_, err := driver.CreateVolume(ctx, request(name, 1))
				if err == nil {
					break
				}
				failures++
				Expect(status.Code(err)).To(Equal(codes.Unavailable))
				plugin.Kill()
				Expect(plugin.Start()).To(Succeed())
			}
			Expect(failures).To(BeNumerically(">=", 1))
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(named(ctx, name)).To(HaveLen(1))
			remove(ctx, named(ctx, name)[0].ID)
		}
	})

	It("should leave a share of the same name that is not theirs", func(ctx SpecContext) {
		foreign, err := shares.Create(ctx, manila, shares.CreateOpts{Name: name, ShareProto: "NFS", Size: 1, ShareNetworkID: network,
			Metadata: map[string]string{"manila.csi.openstack.org/cluster": "shoot--other"}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Eventually(func() error { return shares.Delete(ctx, manila, foreign.ID).ExtractErr() }).WithContext(ctx).Within(time.Minute).
				Should(Succeed())
			Eventually(func() bool {
				_, err := shares.Get(ctx, manila, foreign.ID).Extract()
				return client.IsNotFound(err)
			}).WithContext(ctx).Within(time.Minute).Should(BeTrue())
		}, NodeTimeout(3*time.Minute))

		answer, err := driver.CreateVolume(ctx, request(name, 1))
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Volume.VolumeId).NotTo(Equal(foreign.ID))
		_, err = driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: foreign.ID, Secrets: secrets})
		Expect(status.Code(err)).To(Equal(codes.PermissionDenied))
		remove(ctx, answer.Volume.VolumeId)
		Expect(named(ctx, name)).To(ConsistOf(HaveField("ID", foreign.ID)))
	})

	It("should not be made beyond the quota, or larger than the back end has room", func(ctx SpecContext) {
		_, err := driver.CreateVolume(ctx, request(name, 2000000))
		Expect(status.Code(err)).To(Equal(codes.ResourceExhausted))
		Expect(err).To(MatchError(ContainSubstring(`site "cloud"`)))
		Expect(named(ctx, name)).To(BeEmpty())

		By("deleting what the scheduler found no host for")
		_, err = driver.CreateVolume(ctx, request(name, 200000))
		Expect(status.Code(err)).To(Equal(codes.ResourceExhausted))
		Expect(err).To(MatchError(ContainSubstring(`has the status "error": `)))
		Expect(named(ctx, name)).To(BeEmpty())
	})

	It("should not be mounted from where a hostile answer says", func(ctx SpecContext) {
		Expect(proxy.SetFaults(countproxy.Fault{Service: "manila", Path: "/export_locations$", Action: countproxy.ActionStatus,
			Status: http.StatusOK, Body: `{"export_locations": [{"id": "e", "path": "127.0.0.1:/etc", "preferred": true}]}`})).To(Succeed())
		_, err := driver.CreateVolume(ctx, request(name, 1))
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		Expect(err).To(MatchError(ContainSubstring("not that of another host")))
		Expect(proxy.SetFaults()).To(Succeed())
		answer, err := driver.CreateVolume(ctx, request(name, 1))
		Expect(err).NotTo(HaveOccurred())
		remove(ctx, answer.Volume.VolumeId)
	})
})
