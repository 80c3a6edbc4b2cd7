// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var _ = Describe("What is left of machines", func() {
	var (
		f        *flow
		requests []string
		// servers are objects of the compute API by ID. Each has a port with its ID.
		servers map[string]map[string]any
		// deleting is how many lists a server stays in after its deletion.
		deleting int
		// onList is called before a list is answered, with the number of lists.
		onList func(int)
	)
	server := func(id string, o owner.Owner, status string) {
		servers[id] = map[string]any{"id": id, "name": o.Shoot + "-m", "status": status, "metadata": o.Metadata()}
	}

	BeforeEach(func() {
		requests, servers, deleting = nil, map[string]map[string]any{}, 0
		deleted, lists := map[string]int{}, 0
		onList = func(int) {}
		ports := map[string]map[string]any{"free": {"id": "free"}}
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			requests = append(requests, r.Method+" "+r.URL.Path)
			id := path.Base(r.URL.Path)
			switch {
			case r.URL.Path == "/servers/detail":
				lists++
				onList(lists)
				for id, lists := range deleted {
					if lists >= deleting {
						delete(servers, id)
					}
					deleted[id]++
				}
				for id := range servers {
					ports[id] = map[string]any{"id": id, "device_id": id}
				}
				for id, port := range ports {
					if servers[id] == nil {
						port["device_id"] = ""
					}
				}
				found := []map[string]any{}
				for _, s := range servers {
					if strings.HasPrefix(s["name"].(string), f.owner.Shoot) && s["status"] != "SOFT_DELETED" {
						found = append(found, s)
					}
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"servers": found})
			case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/servers/"):
				_ = json.NewEncoder(w).Encode(map[string]any{"server": servers[id]})
			case strings.HasSuffix(r.URL.Path, "/action"):
				delete(servers, path.Base(path.Dir(r.URL.Path)))
				w.WriteHeader(http.StatusAccepted)
			case r.Method == http.MethodGet:
				_ = json.NewEncoder(w).Encode(map[string]any{"ports": slices.Collect(maps.Values(ports))})
			case strings.HasPrefix(r.URL.Path, "/servers/locked"):
				w.WriteHeader(http.StatusConflict)
			default:
				if strings.HasPrefix(r.URL.Path, "/servers/") {
					deleted[id] = 0
				}
				w.WriteHeader(http.StatusNoContent)
			}
		}))
		DeferCleanup(api.Close)
		service := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: api.URL + "/"}
		f = &flow{owner: owner.Owner{Shoot: "shoot--a", Site: "cloud"}, compute: service, network: service}
	})

	It("should cost one list of servers and two of ports if there are none", func(ctx SpecContext) {
		Expect(deleteMachines(ctx, f)).To(Succeed())
		Expect(requests).To(Equal([]string{"GET /servers/detail", "GET /ports", "GET /ports", "DELETE /ports/free"}))
	})

	It("should be deleted if somebody gave it another name, as it has a port of the shoot", func(ctx SpecContext) {
		server("renamed", f.owner, "ACTIVE")
		servers["renamed"]["name"] = "renamed-by-admin"
		Expect(deleteMachines(ctx, f)).To(Succeed())
		Expect(requests).To(ContainElements("DELETE /servers/renamed", "DELETE /ports/renamed"))
	})

	It("should be deleted at once if the site keeps it after its deletion, as it has a port of the shoot", func(ctx SpecContext) {
		server("soft", f.owner, "SOFT_DELETED")
		Expect(deleteMachines(ctx, f)).To(Succeed())
		Expect(requests).To(ContainElements("POST /servers/soft/action", "DELETE /ports/soft"))
		Expect(requests).NotTo(ContainElement("DELETE /servers/soft"))
	})

	It("should be deleted, servers before their ports", func(ctx SpecContext) {
		deleting = 1
		server("left", f.owner, "ACTIVE")
		Expect(deleteMachines(ctx, f)).To(Succeed())
		deletion := slices.Index(requests, "DELETE /servers/left")
		Expect(deletion).To(BeNumerically(">", 0))
		ports := slices.IndexFunc(requests, func(r string) bool { return strings.HasPrefix(r, "DELETE /ports/") })
		Expect(requests[deletion:ports]).To(ContainElement("GET /servers/detail"))
		Expect(requests[ports:]).To(ConsistOf("DELETE /ports/free", "DELETE /ports/left"))
	})

	It("should not be servers of others, nor those that are shown as deleted", func(ctx SpecContext) {
		server("site", owner.Owner{Shoot: f.owner.Shoot, Site: "other"}, "ACTIVE")
		server("shoot", owner.Owner{Shoot: f.owner.Shoot + "-b", Site: f.owner.Site}, "ACTIVE")
		server("deleted", f.owner, "DELETED")
		Expect(deleteServers(ctx, f)).To(Succeed())
		Expect(requests).To(Equal([]string{"GET /servers/detail", "GET /ports"}))
	})

	It("should be deleted although some are refused, which is told", func(ctx SpecContext) {
		deleting = 1
		for _, id := range []string{"locked-1", "a", "locked-2", "b"} {
			server(id, f.owner, "ACTIVE")
		}
		Expect(deleteServers(ctx,
			f)).To(MatchError(And(ContainSubstring("server shoot--a-m (locked-1) cannot be deleted"), ContainSubstring("(locked-2)"))))
		Expect(slices.Collect(maps.Keys(servers))).To(ConsistOf("locked-1", "locked-2"))
		Expect(requests).To(ContainElements("DELETE /servers/locked-1", "DELETE /servers/locked-2"))
	})

	It("should keep the ports while servers are there, and say which", func(ctx SpecContext) {
		deleting = 1000
		server("left", f.owner, "ACTIVE")
		interrupted, interrupt := context.WithCancel(ctx)
		defer interrupt()
		onList = func(lists int) {
			if lists == 2 {
				interrupt()
			}
		}
		err := deleteMachines(interrupted, f)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError("servers are not deleted yet (1): shoot--a-m (left)"))
		Expect(requests).NotTo(ContainElement(HavePrefix("DELETE /ports/")))
	}, SpecTimeout(time.Minute))
})
