// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var _ = Describe("Machines", func() {
	DescribeTable("the fault of a server",
		func(status, fault string, class platform.Class, message string) {
			err := (&server{Name: "m", Status: status, Fault: serverFault{Code: 500, Message: fault}}).err()
			if message == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(message))
			Expect(platform.ClassOf(err)).To(Equal(class))
		},
		Entry("being built", "BUILD", "", platform.ClassTransient, ""),
		Entry("running", "ACTIVE", "", platform.ClassTransient, ""),
		Entry("switched off", "SHUTOFF", "", platform.ClassTransient, ""),
		Entry("running, with a fault of the past", "ACTIVE", "No valid host was found. ", platform.ClassTransient, ""),
		Entry("no host", "ERROR", "No valid host was found. There are not enough hosts available.", platform.ClassExhausted,
			`server "m" is in status ERROR: 500 No valid host was found. There are not enough hosts available.`),
		Entry("no quota for the root volume", "ERROR", "Build of instance 1 aborted: VolumeSizeExceedsAvailableQuota", platform.ClassQuota,
			`server "m" is in status ERROR: 500 Build of instance 1 aborted: VolumeSizeExceedsAvailableQuota`),
		Entry("no host that could start it", "ERROR", "Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance 1.",
			platform.ClassExhausted,
			`server "m" is in status ERROR: 500 Exceeded maximum number of retries. Exceeded max scheduling attempts 3 for instance 1.`),
		Entry("anything else", "ERROR", "Timed out waiting for a reply.", platform.ClassConflict,
			`server "m" is in status ERROR: 500 Timed out waiting for a reply.`),
	)

	DescribeTable("the addresses of a server",
		func(addresses string, expected ...corev1.NodeAddress) {
			s := &server{Name: "m"}
			Expect(json.Unmarshal([]byte(addresses), &s.Addresses)).To(Succeed())
			Expect(s.nodeAddresses()).To(Equal(append([]corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "m"}}, expected...)))
		},
		Entry("none yet", `{}`),
		Entry("fixed and floating",
			`{"net": [{"addr": "10.0.0.5", "OS-EXT-IPS:type": "fixed"}, {"addr": "192.0.2.5", "OS-EXT-IPS:type": "floating"}]}`,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}, corev1.NodeAddress{Type: corev1.NodeExternalIP,
				Address: "192.0.2.5"}),
		Entry("several networks, in the order of their names",
			`{"b": [{"addr": "10.0.1.5"}], "c": [{"addr": "10.0.2.5"}], "a": [{"addr": "2001:db8::5"}]}`,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "2001:db8::5"}, corev1.NodeAddress{Type: corev1.NodeInternalIP,
				Address: "10.0.1.5"}, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.2.5"}),
		Entry("two families, IPv4 first", `{"net": [{"addr": "2001:db8::5"}, {"addr": "10.0.0.6"}, {"addr": "10.0.0.5"}]}`,
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.6"}, corev1.NodeAddress{Type: corev1.NodeInternalIP,
				Address: "10.0.0.5"}, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "2001:db8::5"}),
	)

	DescribeTable("VolumeID",
		func(source corev1.PersistentVolumeSource, id string, found bool) {
			gotID, gotFound := New(nil).VolumeID(&corev1.PersistentVolumeSpec{PersistentVolumeSource: source})
			Expect(gotID).To(Equal(id))
			Expect(gotFound).To(Equal(found))
		},
		Entry("CSI", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "cinder.csi.openstack.org", VolumeHandle: "v"}},
			"v", true),
		Entry("in-tree", corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}}, "v", true),
		Entry("another driver",
			corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.vsphere.vmware.com", VolumeHandle: "v"}}, "", false),
		Entry("no driver", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}, "", false),
	)

	Describe("one server", func() {
		var (
			api *nova
			c   *call
		)

		BeforeEach(func() {
			api = newNova()
			c = newCall(api)
		})

		// shows answers with the server.
		shows := func(s server) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(map[string]any{"server": s})
			}
		}

		DescribeTable("that the list does not have",
			func(ctx SpecContext, answer http.HandlerFunc, found bool, class platform.Class) {
				api.serve = answer
				c.request.ProviderID = "openstack:///1"
				s, err := c.find(ctx, statusAge)
				if found {
					Expect(err).NotTo(HaveOccurred())
					Expect(s.ID).To(Equal("1"))
					return
				}
				Expect(err).To(HaveOccurred())
				Expect(platform.ClassOf(err)).To(Equal(class))

				s, err = c.findToDelete(ctx)
				Expect(s).To(BeNil())
				Expect(err == nil).To(Equal(class == platform.ClassNotFound))
			},
			Entry("is found by its ID", shows(newServer("1", "ACTIVE")), true, platform.Class("")),
			Entry("is missing if the API says so", fault(404, `{"itemNotFound": {"code": 404, "message": "Instance 1 could not be found."}}`), false,
				platform.ClassNotFound),
			Entry("is not missing because the API is away", fault(503, ""), false, platform.ClassTransient),
			Entry("is not missing because the credentials are refused", fault(401, ""), false, platform.ClassUnauthenticated),
			Entry("is found to be deleted if it waits for its removal", shows(newServer("1", "SOFT_DELETED")), true, platform.Class("")),
			Entry("is not ours if it says so",
				shows(server{ID: "1", Status: "ACTIVE",
					Metadata: owner.Owner{Shoot: ours.Shoot + "-b", Site: ours.Site}.Metadata()}), false, platform.ClassConflict),
		)

		It("should be missing by name if the list does not have it", func(ctx SpecContext) {
			_, err := c.find(ctx, statusAge)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
			api.answers(newServer("1", "ACTIVE"))
			Expect(c.findByName(ctx, "")).To(HaveField("ID", "1"))
		})

		It("should not be taken for another whose name contains its name", func(ctx SpecContext) {
			longer := newServer("1", "ACTIVE")
			longer.Name += "0"
			foreign := newServer("2", "ACTIVE")
			foreign.Name, foreign.Metadata = c.request.Name, owner.Owner{Shoot: "other", Site: ours.Site}.Metadata()
			api.answers(longer, foreign)
			Expect(c.findByName(ctx, "")).To(BeNil())
			Expect(api.queries()).To(HaveExactElements(HaveKeyWithValue("name", []string{"^shoot--local--a-1$"})))
		})

		It("should refuse user data that the API does not take before it makes anything", func(ctx SpecContext) {
			api.serve = func(http.ResponseWriter, *http.Request) { Fail("nothing is to be requested") }
			c.request.UserData = make([]byte, maxUserData+1)
			_, err := c.create(ctx)
			Expect(err).To(MatchError("user data has 49150 bytes, the compute API takes at most 49149"))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		})

		DescribeTable("should get its user data as it is",
			func(ctx SpecContext, userData string) {
				var sent string
				api.serve = func(w http.ResponseWriter, r *http.Request) {
					var body struct {
						Server struct {
							UserData string `json:"user_data"`
						} `json:"server"`
					}
					_ = json.NewDecoder(r.Body).Decode(&body)
					sent = body.Server.UserData
					w.WriteHeader(http.StatusAccepted)
					_ = json.NewEncoder(w).Encode(map[string]any{"server": newServer("1", "BUILD")})
				}
				c.request.UserData = []byte(userData)
				_, err := c.createServer(ctx, &ports.Port{ID: "port"})
				Expect(err).NotTo(HaveOccurred())
				Expect(len(sent)).To(BeNumerically("<=", 65535))
				decoded, err := base64.StdEncoding.DecodeString(sent)
				Expect(err).NotTo(HaveOccurred())
				Expect(string(decoded)).To(Equal(userData))
			},
			Entry("a script", "#!/bin/sh\necho ready\n"),
			Entry("the longest", strings.Repeat("#", maxUserData)),
			Entry("what looks encoded already", "Y2xvdWQ="),
		)
	})
})
