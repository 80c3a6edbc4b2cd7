// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package manila

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/test/csistub"
)

const (
	shareID = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
	cluster = "shoot--local--a"
)

// manila answers for one share as Manila does.
type manila struct {
	mutex sync.Mutex
	// share is the share, nil if there is none.
	share map[string]any
	// next is the status that the share has after it was created or extended.
	next string
	// stuck is true if the share cannot be deleted.
	stuck  bool
	rules  []map[string]any
	export string
	// requests are the changes that were asked for.
	requests []string
}

func (m *manila) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if r.Header.Get("X-OpenStack-Manila-API-Version") != microversion {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	body, err := io.ReadAll(r.Body)
	Expect(err).NotTo(HaveOccurred())
	path := strings.TrimPrefix(r.URL.Path, "/share/v2/")
	if r.Method != http.MethodGet && !strings.Contains(string(body), "access_list") {
		m.requests = append(m.requests, strings.TrimSpace(r.Method+" "+path+" "+strings.SplitN(string(body), ":", 2)[0]))
	}
	answer := func(key string, value any) {
		Expect(json.NewEncoder(w).Encode(map[string]any{key: value})).To(Succeed())
	}
	switch {
	case path == "shares" && r.Method == http.MethodPost:
		var made struct{ Share map[string]any }
		Expect(json.Unmarshal(body, &made)).To(Succeed())
		m.share = made.Share
		m.share["id"], m.share["status"] = shareID, m.next
		answer("share", m.share)
	case path == "shares/detail":
		list := []any{}
		if m.share != nil {
			list = append(list, m.share)
		}
		answer("shares", list)
	case path == "messages":
		answer("messages", []any{map[string]any{"user_message": "no storage\x00 is left", "created_at": "2026-01-01T00:00:00.000000"}})
	case m.share == nil:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"itemNotFound": {"code": 404, "message": "Share could not be found."}}`)
	case path == "shares/"+shareID && r.Method == http.MethodGet:
		answer("share", m.share)
	case path == "shares/"+shareID && r.Method == http.MethodDelete:
		if m.share["status"] = statusErrorDeleting; !m.stuck {
			m.share = nil
		}
		w.WriteHeader(http.StatusAccepted)
	case strings.HasSuffix(path, "/export_locations"):
		answer("export_locations", []any{map[string]any{"id": "e", "path": m.export, "preferred": true}})
	case strings.Contains(string(body), "allow_access"):
		var made struct {
			Rule map[string]any `json:"allow_access"`
		}
		Expect(json.Unmarshal(body, &made)).To(Succeed())
		made.Rule["id"], made.Rule["state"] = "r", accessStateActive
		m.rules = append(m.rules, made.Rule)
		answer("access", made.Rule)
	case strings.Contains(string(body), "deny_access"):
		m.rules = nil
		w.WriteHeader(http.StatusAccepted)
	case strings.Contains(string(body), "access_list"):
		answer("access_list", m.rules)
	case strings.Contains(string(body), "extend"):
		m.share["size"], m.share["status"] = 5, m.next
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusNotImplemented)
	}
}

var _ = Describe("Controller", func() {
	var (
		site       *csistub.Site
		service    *manila
		file       csistub.ConfigFile
		controller csi.ControllerClient
		identity   csi.IdentityClient
	)
	const shareEntries = "share-network-id=net\nshare-client=10.250.0.0/24\nshare-client=fd00::/64\n"
	secrets := map[string]string{"cloud": "cloud"}
	capability := &csi.VolumeCapability{
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER},
	}
	request := func(change ...func(*csi.CreateVolumeRequest)) *csi.CreateVolumeRequest {
		r := &csi.CreateVolumeRequest{
			Name: "pv-1", Secrets: secrets, VolumeCapabilities: []*csi.VolumeCapability{capability},
			CapacityRange: &csi.CapacityRange{RequiredBytes: 3<<30 - 1},
			Parameters:    map[string]string{"type": "gold", "availability": "az", "csi.storage.k8s.io/pvc/name": "claim"},
		}
		for _, f := range change {
			f(r)
		}
		return r
	}
	share := func(metadata map[string]string) map[string]any {
		return map[string]any{"id": shareID, "name": "pv-1", "size": 3, "status": statusAvailable, "share_proto": "NFS",
			"share_network_id": "net", "metadata": metadata}
	}
	own := map[string]string{"manila.csi.openstack.org/cluster": cluster}

	BeforeEach(func() {
		service = &manila{next: statusAvailable, export: "10.250.0.9:/shares/1"}
		site = csistub.New(service.ServeHTTP)
		file = csistub.NewConfigFile(site.Section("cloud", "right"), shareEntries)
		connection := csistub.Connect(func(ctx context.Context, endpoint string) error {
			return drivers.Serve(ctx, endpoint, drivers.Services{
				Identity:   &Identity{Version: "v1"},
				Controller: NewController(drivers.NewClouds([]string{string(file)}, client.NewSessions(), Connect), cluster),
			})
		})
		controller, identity = csi.NewControllerClient(connection), csi.NewIdentityClient(connection)
	})

	It("should create a marked share in the share network that all nodes of the site can mount", func(ctx SpecContext) {
		answer, err := controller.CreateVolume(ctx, request())
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Volume.VolumeId).To(Equal(shareID))
		Expect(answer.Volume.CapacityBytes).To(BeEquivalentTo(3 << 30))
		Expect(answer.Volume.VolumeContext).To(Equal(map[string]string{"server": "10.250.0.9", "share": "/shares/1"}))
		Expect(answer.Volume.AccessibleTopology).To(HaveLen(1))
		Expect(answer.Volume.AccessibleTopology[0].Segments).To(Equal(
			map[string]string{"hybrid.provider.extensions.gardener.cloud/site": "cloud"}))
		Expect(service.share).To(And(HaveKeyWithValue("share_type", "gold"), HaveKeyWithValue("availability_zone", "az"),
			HaveKeyWithValue("share_network_id", "net"), HaveKeyWithValue("metadata", map[string]any{
				"manila.csi.openstack.org/cluster": cluster, "csi.storage.k8s.io/pvc/name": "claim",
			})))
		Expect(service.rules).To(ConsistOf(HaveKeyWithValue("access_to", "10.250.0.0/24"), HaveKeyWithValue("access_to", "fd00::/64")))

		requests := len(service.requests)
		again, err := controller.CreateVolume(ctx, request())
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Volume.VolumeId).To(Equal(shareID))
		Expect(service.requests).To(HaveLen(requests), "nothing is done twice")
	})

	DescribeTable("should refuse what shares cannot do",
		func(ctx SpecContext, change func(*csi.CreateVolumeRequest), expected codes.Code) {
			_, err := controller.CreateVolume(ctx, request(change))
			Expect(status.Code(err)).To(Equal(expected))
			Expect(service.requests).To(BeEmpty())
		},
		Entry("no name", func(r *csi.CreateVolumeRequest) { r.Name = "" }, codes.InvalidArgument),
		Entry("a long name", func(r *csi.CreateVolumeRequest) { r.Name = strings.Repeat("a", 256) }, codes.InvalidArgument),
		Entry("no capability", func(r *csi.CreateVolumeRequest) { r.VolumeCapabilities = nil }, codes.InvalidArgument),
		Entry("a block device", func(r *csi.CreateVolumeRequest) {
			r.VolumeCapabilities = []*csi.VolumeCapability{{AccessType: &csi.VolumeCapability_Block{}, AccessMode: capability.AccessMode}}
		}, codes.InvalidArgument),
		Entry("another file system", func(r *csi.CreateVolumeRequest) {
			r.VolumeCapabilities = []*csi.VolumeCapability{{AccessMode: capability.AccessMode,
				AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}}}}
		}, codes.InvalidArgument),
		Entry("a copy", func(r *csi.CreateVolumeRequest) { r.VolumeContentSource = &csi.VolumeContentSource{} }, codes.InvalidArgument),
		Entry("a parameter that is not known", func(r *csi.CreateVolumeRequest) { r.Parameters["shareNetworkID"] = "other" },
			codes.InvalidArgument),
		Entry("a negative size", func(r *csi.CreateVolumeRequest) { r.CapacityRange.RequiredBytes = -1 }, codes.InvalidArgument),
		Entry("a limit below one GiB", func(r *csi.CreateVolumeRequest) { r.CapacityRange = &csi.CapacityRange{LimitBytes: 1} },
			codes.OutOfRange),
		Entry("a size that nobody has", func(r *csi.CreateVolumeRequest) { r.CapacityRange.RequiredBytes = 1<<63 - 1 }, codes.OutOfRange),
		Entry("a site that is not known", func(r *csi.CreateVolumeRequest) { r.Secrets = nil }, codes.InvalidArgument),
	)

	It("should wait for the share network", func(ctx SpecContext) {
		file.Write(site.Section("cloud", "right"))
		_, err := controller.CreateVolume(ctx, request())
		Expect(status.Code(err)).To(Equal(codes.FailedPrecondition))
	})

	It("should leave a share of the same name that is not marked", func(ctx SpecContext) {
		for _, of := range []map[string]string{{}, {"manila.csi.openstack.org/cluster": "shoot--local--b"}} {
			service.share = share(of)
			service.requests = nil
			_, err := controller.CreateVolume(ctx, request())
			Expect(err).NotTo(HaveOccurred())
			Expect(service.requests).To(ContainElement(HavePrefix("POST shares ")))
		}
	})

	It("should refuse its own share of the name if that is another one", func(ctx SpecContext) {
		for key, value := range map[string]any{"size": 4, "share_proto": "CIFS", "share_network_id": "other"} {
			service.share = share(own)
			service.share[key] = value
			_, err := controller.CreateVolume(ctx, request())
			Expect(status.Code(err)).To(Equal(codes.AlreadyExists), key)
		}
	})

	It("should delete a share that failed, and say why", func(ctx SpecContext) {
		service.next = "error"
		_, err := controller.CreateVolume(ctx, request())
		Expect(status.Code(err)).To(Equal(codes.ResourceExhausted))
		Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring("no storage is left"))))
		Expect(service.share).To(BeNil())

		service.stuck = true
		_, err = controller.CreateVolume(ctx, request())
		Expect(status.Code(err)).To(Equal(codes.Unavailable), "the share exists")
	})

	It("should make an access rule again that failed", func(ctx SpecContext) {
		service.share = share(own)
		service.rules = []map[string]any{{"id": "r", "access_type": "ip", "access_to": "10.250.0.0/24", "access_level": "rw", "state": "error"}}
		_, err := controller.CreateVolume(ctx, request())
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		_, err = controller.CreateVolume(ctx, request())
		Expect(err).NotTo(HaveOccurred())
	})

	It("should not return a volume that nodes must not mount", func(ctx SpecContext) {
		service.export = "127.0.0.1:/etc"
		_, err := controller.CreateVolume(ctx, request())
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		Expect(err).To(MatchError(ContainSubstring("not that of another host")))
	})

	It("should not believe an answer with another share", func(ctx SpecContext) {
		service.share = share(own)
		service.share["id"] = "../../other"
		_, err := controller.CreateVolume(ctx, request())
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		service.share["id"] = "7a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
		_, err = controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: shareID, Secrets: secrets})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
		Expect(service.requests).To(BeEmpty())
	})

	DescribeTable("should delete its own shares only",
		func(ctx SpecContext, of map[string]string, state string, expected codes.Code) {
			service.share = share(of)
			service.share["status"] = state
			_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: shareID, Secrets: secrets})
			Expect(status.Code(err)).To(Equal(expected))
			if expected == codes.OK {
				Expect(service.share).To(BeNil())
				_, err = controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: shareID, Secrets: secrets})
				Expect(err).NotTo(HaveOccurred(), "it is gone")
				return
			}
			Expect(service.requests).To(BeEmpty())
			Expect(err).NotTo(MatchError(ContainSubstring("shoot--local--b")))
		},
		Entry("its own", own, statusAvailable, codes.OK),
		Entry("its own that failed", own, "error", codes.OK),
		Entry("its own whose deletion failed", own, statusErrorDeleting, codes.OK),
		Entry("one of another shoot", map[string]string{"manila.csi.openstack.org/cluster": "shoot--local--b"}, statusAvailable,
			codes.PermissionDenied),
		Entry("one without a mark", nil, statusAvailable, codes.PermissionDenied),
	)

	It("should expand its own shares only, and never shrink", func(ctx SpecContext) {
		service.share = share(own)
		expand := func(bytes int64) (*csi.ControllerExpandVolumeResponse, error) {
			return controller.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{VolumeId: shareID, Secrets: secrets,
				CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}})
		}
		answer, err := expand(5 << 30)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.CapacityBytes).To(BeEquivalentTo(5 << 30))
		Expect(answer.NodeExpansionRequired).To(BeFalse())
		requests := slices.Clone(service.requests)
		answer, err = expand(2 << 30)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.CapacityBytes).To(BeEquivalentTo(5 << 30))
		Expect(service.requests).To(Equal(requests))

		service.share["size"], service.next = 3, "extending_error"
		_, err = expand(5 << 30)
		Expect(status.Code(err)).To(Equal(codes.ResourceExhausted))

		service.share = share(nil)
		_, err = expand(5 << 30)
		Expect(status.Code(err)).To(Equal(codes.PermissionDenied))
	})

	It("should refuse IDs that are none", func(ctx SpecContext) {
		for _, id := range []string{"", "x", "../shares", "{" + shareID + "}", "urn:uuid:" + shareID} {
			_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id, Secrets: secrets})
			Expect(status.Code(err)).To(Equal(codes.InvalidArgument), id)
		}
		Expect(site.Logins.Load()).To(BeZero())
	})

	It("should not believe a proxy that a share is gone", func(ctx SpecContext) {
		site.Handle = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Openstack-Request-Id")
			w.WriteHeader(http.StatusNotFound)
		}
		_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: shareID, Secrets: secrets})
		Expect(status.Code(err)).To(Equal(codes.Unavailable))
	})

	It("should confirm what shares can do", func(ctx SpecContext) {
		validate := func(capabilities ...*csi.VolumeCapability) (*csi.ValidateVolumeCapabilitiesResponse, error) {
			return controller.ValidateVolumeCapabilities(ctx, &csi.ValidateVolumeCapabilitiesRequest{VolumeId: shareID, Secrets: secrets,
				VolumeCapabilities: capabilities})
		}
		_, err := validate(capability)
		Expect(status.Code(err)).To(Equal(codes.NotFound))
		service.share = share(own)
		answer, err := validate(capability)
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Confirmed.VolumeCapabilities).To(HaveLen(1))
		answer, err = validate()
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Confirmed).To(BeNil())
	})

	It("should say what it is without a site", func(ctx SpecContext) {
		file.Write("")
		info, err := identity.GetPluginInfo(ctx, &csi.GetPluginInfoRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Name).To(Equal("nfs.manila.csi.openstack.org"))
		plugin, err := identity.GetPluginCapabilities(ctx, &csi.GetPluginCapabilitiesRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(plugin.Capabilities).To(HaveLen(3))
		_, err = identity.Probe(ctx, &csi.ProbeRequest{})
		Expect(err).NotTo(HaveOccurred())
		answer, err := controller.ControllerGetCapabilities(ctx, &csi.ControllerGetCapabilitiesRequest{})
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Capabilities).To(HaveLen(2))
	})
})
