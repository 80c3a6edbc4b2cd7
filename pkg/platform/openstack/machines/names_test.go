// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var _ = Describe("Server that is not what it was", func() {
	type port struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		DeviceID string `json:"device_id"`
	}
	const renamed, outside = "shoot--local--a-renamed-by-admin", "renamed-by-admin"
	var (
		api *nova
		c   *call
		// ahead is how far the clock of the snapshot is.
		ahead time.Duration
		// ports are those of the shoot.
		ports []port
		// asked are all requests but lists of servers.
		asked []string
		// onDelete and onForce are what the API does with a server.
		onDelete, onForce func(id string)
		refuseForce       bool
	)

	BeforeEach(func() {
		api = newNova()
		c = newCall(api)
		ahead = 0
		c.snapshot.now = func() time.Time { return time.Now().Add(ahead) }
		ports, asked, refuseForce = nil, nil, false
		remove := func(id string) {
			api.answers(slices.DeleteFunc(slices.Clone(api.servers), func(s server) bool { return s.ID == id })...)
			api.hides(slices.DeleteFunc(slices.Clone(api.hidden), func(s server) bool { return s.ID == id })...)
		}
		onDelete, onForce = remove, remove
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			id := path.Base(r.URL.Path)
			switch {
			case r.URL.Path == "/ports" && r.Method == http.MethodGet:
				found := []port{}
				for _, p := range ports {
					if name := r.URL.Query().Get("name"); name == "" || name == p.Name {
						found = append(found, p)
					}
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"ports": found})
			case r.URL.Path == "/ports":
				w.WriteHeader(http.StatusCreated)
				_ = json.NewEncoder(w).Encode(map[string]any{"port": port{ID: "new", Name: c.request.Name}})
			case r.URL.Path == "/servers":
				w.WriteHeader(http.StatusAccepted)
				_ = json.NewEncoder(w).Encode(map[string]any{"server": map[string]string{"id": "new"}})
			case strings.HasSuffix(r.URL.Path, "/action") && refuseForce:
				fault(http.StatusForbidden,
					`{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:os-deferred-delete:force"}}`)(w, r)
			case strings.HasSuffix(r.URL.Path, "/action"):
				onForce(path.Base(path.Dir(r.URL.Path)))
				w.WriteHeader(http.StatusAccepted)
			case r.Method == http.MethodGet:
				api.show(w, id)
			case strings.HasPrefix(r.URL.Path, "/ports/"):
				ports = slices.DeleteFunc(ports, func(p port) bool { return p.ID == id })
				w.WriteHeader(http.StatusNoContent)
			default:
				onDelete(id)
				w.WriteHeader(http.StatusNoContent)
			}
		}
	})

	// made is a server of the machine that runs. One of version 0.1 does not tell the machine.
	made := func(id, name string, marked bool) server {
		s := newServer(id, "ACTIVE")
		s.Name = name
		s.Metadata[owner.MetadataPort] = "port-" + id
		if marked {
			s.Metadata[owner.MetadataMachine] = c.request.Name
		}
		return s
	}
	list := func(ctx context.Context) map[string]string {
		GinkgoHelper()
		current, err := c.snapshot.get(ctx, 0)
		Expect(err).NotTo(HaveOccurred())
		listed, err := c.listable(ctx, current)
		Expect(err).NotTo(HaveOccurred())
		names := map[string]string{}
		for _, s := range listed {
			names[s.ID] = s.machine().Name
		}
		return names
	}
	later := func(ctx context.Context, after time.Duration) map[string]string {
		GinkgoHelper()
		ahead += after
		return list(ctx)
	}

	Describe("in the list of machines", func() {
		It("should have the machine's name whatever somebody calls it, and cost no further request", func(ctx SpecContext) {
			api.answers(made("1", renamed, true))
			Expect(list(ctx)).To(Equal(map[string]string{"1": c.request.Name}))
			Expect(asked).To(BeEmpty())

			found, err := c.find(ctx, statusAge)
			Expect(err).NotTo(HaveOccurred())
			Expect(found.ID).To(Equal("1"), "a machine that has no ID yet")
			Expect(found.machine().Addresses[0].Address).To(Equal(c.request.Name))
		})

		It("should stay with a name that no other server of the shoot has", func(ctx SpecContext) {
			api.date = time.Now()
			api.answers(made("1", c.request.Name, true))
			Expect(list(ctx)).To(HaveLen(1))
			away := made("1", outside, true)
			api.answers()
			api.serve = func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(map[string]any{"server": away})
			}
			Expect(later(ctx, fullAge+time.Second)).To(Equal(map[string]string{"1": c.request.Name}))
		})

		It("should keep the name that it had if it does not tell one", func(ctx SpecContext) {
			ports = []port{{ID: "port-1", Name: c.request.Name, DeviceID: "1"}}
			api.answers(made("1", c.request.Name, false))
			Expect(list(ctx)).To(Equal(map[string]string{"1": c.request.Name}))
			api.answers(made("1", renamed, false))
			Expect(later(ctx, time.Minute)).To(Equal(map[string]string{"1": c.request.Name}))
			Expect(asked).To(ConsistOf("GET /ports"), "ports are asked for once")
		})

		DescribeTable("should not be one of which nobody knows what it is called",
			func(ctx SpecContext, serverName, portName string) {
				ports = []port{{ID: "port-1", Name: portName, DeviceID: "1"}}
				api.answers(made("1", serverName, false))
				Expect(list(ctx)).To(BeEmpty())
			},
			Entry("because the server was renamed before", renamed, "shoot--local--a-1"),
			Entry("because the port was", "shoot--local--a-1", renamed),
			Entry("because the port is gone", "shoot--local--a-1", ""),
		)

		It("should not be one that is kept to be restored", func(ctx SpecContext) {
			kept := made("1", c.request.Name, true)
			kept.Status = statusSoft
			api.answers(kept)
			Expect(list(ctx)).To(BeEmpty())
		})
	})

	Describe("of a machine that never got its ID", func() {
		BeforeEach(func() {
			ports = []port{{ID: "port-1", Name: c.request.Name, DeviceID: "1"}}
		})

		DescribeTable("should be adopted",
			func(ctx SpecContext, name string, marked bool) {
				api.hides(made("1", name, marked))
				created, err := c.create(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(created.ID).To(Equal("1"))
				Expect(asked).NotTo(ContainElement(HavePrefix("POST")))
			},
			Entry("renamed", renamed, true),
			Entry("renamed, of an earlier version", renamed, false),
			Entry("with a name that no other server of the shoot has", outside, false),
		)

		DescribeTable("should be deleted",
			func(ctx SpecContext, name string, marked bool) {
				api.hides(made("1", name, marked))
				Expect(c.delete(ctx)).To(Succeed())
				Expect(asked).To(ContainElement("DELETE /servers/1"))
				Expect(ports).To(BeEmpty())
			},
			Entry("renamed", renamed, true),
			Entry("with a name that no other server of the shoot has", outside, false),
		)

		It("should be the one that has the port if there are two", func(ctx SpecContext) {
			failed := made("2", c.request.Name, true)
			failed.Status = statusError
			api.answers(failed, made("1", c.request.Name, true))
			created, err := c.create(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(created.ID).To(Equal("1"))
			found, err := c.find(ctx, statusAge)
			Expect(err).NotTo(HaveOccurred())
			Expect(found.ID).To(Equal("1"))
		})

		It("should not be one that somebody gave the port of the machine", func(ctx SpecContext) {
			other := made("1", ours.Shoot+"-other", true)
			other.Metadata[owner.MetadataMachine] = ours.Shoot + "-other"
			api.hides(other)
			created, err := c.create(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(created.ID).To(Equal("new"))
			Expect(asked).To(ContainElement("POST /ports"), "its port is not free")
		})
	})

	It("should be waited for although no list has it", func(ctx SpecContext) {
		api.hides(made("1", outside, true))
		onDelete = func(string) {}
		c.request.ProviderID = providerIDPrefix + "1"
		interrupted, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		ports = []port{{ID: "port-1", Name: c.request.Name, DeviceID: "1"}}
		Expect(c.delete(interrupted)).NotTo(Succeed())
		Expect(ports).NotTo(BeEmpty(), "the server is still there")
	})

	Describe("that the site keeps after its deletion", func() {
		BeforeEach(func() {
			ports = []port{{ID: "port-1", Name: c.request.Name, DeviceID: "1"}}
			api.answers(made("1", c.request.Name, true))
			c.request.ProviderID = providerIDPrefix + "1"
			onDelete = func(string) {
				kept := made("1", c.request.Name, true)
				kept.Status = statusSoft
				api.answers(kept)
			}
		})

		It("should be deleted at once, as it has volumes and a share of the quota", func(ctx SpecContext) {
			Expect(c.delete(ctx)).To(Succeed())
			Expect(asked).To(ContainElements("DELETE /servers/1", "POST /servers/1/action", "DELETE /ports/port-1"))
			Expect(slices.Index(asked, "POST /servers/1/action")).To(BeNumerically("<", slices.Index(asked, "DELETE /ports/port-1")))
		})

		It("should be deleted at once if somebody else deleted it", func(ctx SpecContext) {
			onDelete("1")
			Expect(c.delete(ctx)).To(Succeed())
			Expect(asked).To(ContainElement("POST /servers/1/action"))
			Expect(asked).NotTo(ContainElement("DELETE /servers/1"))
		})

		It("should be told of if the site refuses", func(ctx SpecContext) {
			refuseForce = true
			err := c.delete(ctx)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
			Expect(err).To(MatchError(ContainSubstring("cannot be force-deleted")))
		})
	})

	DescribeTable("should take the ports with it that were made too late",
		func(ctx SpecContext, lost bool, left []string) {
			if lost {
				c.unanswered.Store(c.request.Name, true)
			}
			created, err := c.create(ctx)
			Expect(err).NotTo(HaveOccurred())
			c.unanswered.Clear() // the process starts again
			created.Status, created.Task = "ACTIVE", ""
			created.Metadata[owner.MetadataMachine] = c.request.Name
			api.answers(*created)
			ports = []port{{ID: "new", Name: c.request.Name, DeviceID: created.ID}, {ID: "late", Name: c.request.Name},
				{ID: "used", Name: c.request.Name, DeviceID: "other"}}
			c.request.ProviderID = providerIDPrefix + created.ID
			Expect(c.delete(ctx)).To(Succeed())
			var ids []string
			for _, p := range ports {
				ids = append(ids, p.ID)
			}
			Expect(ids).To(Equal(left))
		},
		Entry("if an answer was lost", true, []string{"used"}),
		Entry("but not look for them otherwise", false, []string{"late", "used"}),
	)

	It("should be one whose port was asked for without an answer", func(ctx SpecContext) {
		serve := api.serve
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path == "/ports" {
				w.WriteHeader(http.StatusGatewayTimeout)
				return
			}
			serve(w, r)
		}
		_, err := c.create(ctx)
		Expect(err).To(HaveOccurred())
		api.serve = serve
		created, err := c.create(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(created.Metadata).To(HaveKey(owner.MetadataMorePorts))
	})
})
