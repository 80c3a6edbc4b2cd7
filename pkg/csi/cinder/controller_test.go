// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cinder

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	driver "k8s.io/cloud-provider-openstack/pkg/csi/cinder"
	cpoerrors "k8s.io/cloud-provider-openstack/pkg/util/errors"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/test/csistub"
)

const (
	volumeID = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
	cluster  = "shoot--local--a"
)

var _ = Describe("Controller", func() {
	var (
		first, second *csistub.Site
		file          csistub.ConfigFile
		controller    csi.ControllerClient
	)
	at := func(name string) map[string]string { return map[string]string{"cloud": name} }
	volume := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusAccepted)
		case strings.HasSuffix(r.URL.Path, "/volumes/"+volumeID):
			fmt.Fprintf(w, `{"volume": {"id": %q, "size": 3, "status": "available"}}`, volumeID)
		case strings.HasSuffix(r.URL.Path, "/volumes/detail"):
			fmt.Fprintf(w, `{"volumes": [{"id": %q, "size": 3, "status": "available"}]}`, volumeID)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"itemNotFound": {"code": 404, "message": "It could not be found."}}`)
		}
	}
	nothing := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/volumes/detail") {
			fmt.Fprint(w, `{"volumes": []}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"itemNotFound": {"code": 404, "message": "It could not be found."}}`)
	}

	BeforeEach(func() {
		first, second = csistub.New(volume), csistub.New(nothing)
		file = csistub.NewConfigFile(first.Section("first", "right"), second.Section("second", "right"))
		d := driver.NewDriver(&driver.DriverOpts{ClusterID: cluster, WithTopology: true})
		controller = csi.NewControllerClient(csistub.Connect(func(ctx context.Context, endpoint string) error {
			return drivers.Serve(ctx, endpoint, drivers.Services{
				Identity:   driver.NewIdentityServer(d),
				Controller: NewController(d, drivers.NewClouds([]string{string(file)}, client.NewSessions(), Connect), cluster),
			})
		}))
	})

	It("asks the site of the request alone", func(ctx SpecContext) {
		_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: at("first")})
		Expect(err).NotTo(HaveOccurred())
		Expect(first.Logins.Load()).To(BeEquivalentTo(1))
		Expect(second.Logins.Load()).To(BeZero())
	})

	It("serves a site while another does not answer", func(ctx SpecContext) {
		first.Down.Store(http.StatusServiceUnavailable)
		_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: at("first")})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		_, err = controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: at("second")})
		Expect(err).NotTo(HaveOccurred(), "it is not there, so it is deleted")
	})

	It("refuses a site that it does not know", func(ctx SpecContext) {
		for _, secrets := range []map[string]string{nil, at("third")} {
			_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: secrets})
			Expect(status.Code(err)).To(Equal(codes.InvalidArgument))
		}
	})

	It("knows a site that came later", func(ctx SpecContext) {
		third := csistub.New(nothing)
		file.Write(first.Section("first", "right"), second.Section("second", "right"), third.Section("third", "right"))
		_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: at("third")})
		Expect(err).NotTo(HaveOccurred())
	})

	It("does not believe a proxy that a volume is gone", func(ctx SpecContext) {
		second.Handle = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Openstack-Request-Id")
			w.WriteHeader(http.StatusNotFound)
		}
		_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: at("second")})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		_, err = controller.ControllerUnpublishVolume(ctx,
			&csi.ControllerUnpublishVolumeRequest{VolumeId: volumeID, NodeId: "n", Secrets: at("second")})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
	})

	Describe("in a project with another shoot", func() {
		const foreign = "shoot--local--b"
		var changes []string

		// has answers with objects whose marks name the clusters. Without one they have no mark.
		has := func(ofVolume, ofSnapshot, ofServer string) {
			changes = nil
			mark := func(key, of string) string {
				if of == "" {
					return "{}"
				}
				return fmt.Sprintf("{%q: %q}", key, of)
			}
			const csiMark = "cinder.csi.openstack.org/cluster"
			first.Handle = func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method != http.MethodGet:
					changes = append(changes, r.Method)
					w.WriteHeader(http.StatusAccepted)
				case strings.HasSuffix(r.URL.Path, "/volumes/"+volumeID):
					fmt.Fprintf(w, `{"volume": {"id": %q, "size": 3, "status": "available", "metadata": %s}}`, volumeID, mark(csiMark, ofVolume))
				case strings.HasSuffix(r.URL.Path, "/snapshots/"+volumeID):
					fmt.Fprintf(w, `{"snapshot": {"id": %q, "status": "available", "metadata": %s}}`, volumeID, mark(csiMark, ofSnapshot))
				case strings.HasSuffix(r.URL.Path, "/servers/n"):
					fmt.Fprintf(w, `{"server": {"id": "n", "status": "ACTIVE", "metadata": %s}}`, mark("gardener-shoot", ofServer))
				case strings.HasSuffix(r.URL.Path, "/snapshots") || strings.HasSuffix(r.URL.Path, "/snapshots/detail"):
					fmt.Fprint(w, `{"snapshots": []}`)
				default:
					w.WriteHeader(http.StatusNotFound)
					fmt.Fprint(w, `{"itemNotFound": {"code": 404, "message": "It could not be found."}}`)
				}
			}
		}
		deleteVolume := func(ctx context.Context) error {
			_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volumeID, Secrets: at("first")})
			return err
		}
		publish := func(ctx context.Context) error {
			_, err := controller.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{
				VolumeId: volumeID, NodeId: "n", Secrets: at("first"), VolumeCapability: &csi.VolumeCapability{},
			})
			return err
		}
		unpublish := func(ctx context.Context) error {
			_, err := controller.ControllerUnpublishVolume(ctx,
				&csi.ControllerUnpublishVolumeRequest{VolumeId: volumeID, NodeId: "n", Secrets: at("first")})
			return err
		}
		expand := func(ctx context.Context) error {
			_, err := controller.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{
				VolumeId: volumeID, CapacityRange: &csi.CapacityRange{RequiredBytes: 5 << 30}, Secrets: at("first"),
			})
			return err
		}
		snapshot := func(ctx context.Context) error {
			_, err := controller.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{SourceVolumeId: volumeID, Name: "s", Secrets: at("first")})
			return err
		}
		deleteSnapshot := func(ctx context.Context) error {
			_, err := controller.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: volumeID, Secrets: at("first")})
			return err
		}

		DescribeTable("refuses what is the other one's",
			func(ctx SpecContext, ofVolume, ofSnapshot, ofServer string, do func(context.Context) error) {
				has(ofVolume, ofSnapshot, ofServer)
				err := do(ctx)
				Expect(status.Code(err)).To(Equal(codes.PermissionDenied))
				Expect(err).To(MatchError(And(ContainSubstring("was not made for this shoot"), Not(ContainSubstring(foreign)))))
				Expect(changes).To(BeEmpty())
			},
			Entry("a volume to delete", foreign, cluster, cluster, deleteVolume),
			Entry("a volume to attach", foreign, cluster, cluster, publish),
			Entry("a server to attach to", cluster, cluster, foreign, publish),
			Entry("a volume to detach", foreign, cluster, cluster, unpublish),
			Entry("a server to detach from", cluster, cluster, foreign, unpublish),
			Entry("a volume to expand", foreign, cluster, cluster, expand),
			Entry("a volume to take a snapshot of", foreign, cluster, cluster, snapshot),
			Entry("a snapshot to delete", cluster, foreign, cluster, deleteSnapshot),
		)

		DescribeTable("deletes what is its own or nobody's",
			func(ctx SpecContext, of string, do func(context.Context) error) {
				has(of, of, of)
				Expect(do(ctx)).To(Succeed())
				Expect(changes).To(ConsistOf(http.MethodDelete))
			},
			Entry("its own volume", cluster, deleteVolume),
			Entry("a volume without a mark", "", deleteVolume),
			Entry("its own snapshot", cluster, deleteSnapshot),
			Entry("a snapshot without a mark", "", deleteSnapshot),
		)
	})

	It("lists the volumes of all sites, or none if one does not answer", func(ctx SpecContext) {
		var ids []string
		for token, more := "", true; more; more = token != "" {
			answer, err := controller.ListVolumes(ctx, &csi.ListVolumesRequest{StartingToken: token})
			Expect(err).NotTo(HaveOccurred())
			for _, entry := range answer.Entries {
				ids = append(ids, entry.Volume.VolumeId)
			}
			token = answer.NextToken
		}
		Expect(ids).To(ConsistOf(volumeID))

		file.Write(first.Section("first", "right"), second.Section("second", "wrong"))
		_, err := controller.ListVolumes(ctx, &csi.ListVolumesRequest{})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))

		file.Write("")
		answer, err := controller.ListVolumes(ctx, &csi.ListVolumesRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Entries).To(BeEmpty())
	})

	It("finds a volume of any site, and misses it only if all sites do", func(ctx SpecContext) {
		answer, err := controller.ControllerGetVolume(ctx, &csi.ControllerGetVolumeRequest{VolumeId: volumeID})
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Volume.CapacityBytes).To(BeEquivalentTo(3 << 30))
		_, err = controller.ControllerGetVolume(ctx, &csi.ControllerGetVolumeRequest{VolumeId: "other"})
		Expect(status.Code(err)).To(Equal(codes.NotFound))

		file.Write(first.Section("first", "wrong"), second.Section("second", "right"))
		_, err = controller.ControllerGetVolume(ctx, &csi.ControllerGetVolumeRequest{VolumeId: volumeID})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
	})

	It("says what it can do without a site", func(ctx SpecContext) {
		file.Write("")
		answer, err := controller.ControllerGetCapabilities(ctx, &csi.ControllerGetCapabilitiesRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Capabilities).NotTo(BeEmpty())
	})
})

var _ = DescribeTable("The code of a failed request",
	func(code codes.Code, class platform.Class, expected codes.Code) {
		err := callStatus("cloud", status.Error(code, "m"), class)
		Expect(status.Code(err)).To(Equal(expected))
		Expect(err).To(MatchError(ContainSubstring(`site "cloud": m`)))
	},
	Entry("what can pass", codes.Internal, platform.ClassTransient, codes.Unavailable),
	Entry("credentials that are refused", codes.Internal, platform.ClassUnauthenticated, codes.Unavailable),
	Entry("an error without a code", codes.Unknown, platform.ClassTransient, codes.Unavailable),
	Entry("a quota", codes.Internal, platform.ClassQuota, codes.ResourceExhausted),
	Entry("a conflict", codes.Internal, platform.ClassConflict, codes.Internal),
	Entry("what the driver found", codes.Internal, platform.Class(""), codes.Internal),
	Entry("a code that says more", codes.AlreadyExists, platform.ClassTransient, codes.AlreadyExists),
)

var _ = DescribeTable("The class of an error",
	func(err error, expected platform.Class) { Expect(classOf(err)).To(Equal(expected)) },
	Entry("of the driver itself", errors.New("volume is in error state"), platform.Class("")),
	Entry("of the driver that finds nothing", cpoerrors.ErrNotFound, platform.Class("")),
	Entry("of time", fmt.Errorf("wait: %w", context.DeadlineExceeded), platform.ClassTransient),
	Entry("of the session", platform.NewError(platform.ClassUnauthenticated, "m"), platform.ClassUnauthenticated),
)
