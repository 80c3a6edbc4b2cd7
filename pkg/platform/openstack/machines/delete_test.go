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

var _ = Describe("Deletion", func() {
	const port = "port"
	var (
		api *nova
		c   *call
		// ports are the IDs of the machine's ports.
		ports []string
	)

	BeforeEach(func() {
		api = newNova()
		c = newCall(api)
		ports = []string{port}
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			id := path.Base(r.URL.Path)
			switch {
			case r.URL.Path == "/ports":
				found := []map[string]string{}
				for _, id := range ports {
					found = append(found, map[string]string{"id": id})
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"ports": found})
			case r.Method == http.MethodGet:
				api.show(w, id)
			case strings.HasPrefix(r.URL.Path, "/ports/"):
				ports = slices.DeleteFunc(ports, func(existing string) bool { return existing == id })
				w.WriteHeader(http.StatusNoContent)
			default:
				api.answers(slices.DeleteFunc(slices.Clone(api.servers), func(s server) bool { return s.ID == id })...)
				w.WriteHeader(http.StatusNoContent)
			}
		}
	})

	// made is a server of the machine.
	made := func(id, port string) server {
		s := newServer(id, "ACTIVE")
		s.Name = c.request.Name
		if port != "" {
			s.Metadata[owner.MetadataPort] = port
		}
		return s
	}
	remove := func(ctx context.Context, id string) {
		GinkgoHelper()
		c.request.ProviderID = providerIDPrefix + id
		Expect(c.delete(ctx)).To(Succeed())
	}

	DescribeTable("of one of two servers that a machine got should leave the other one its port",
		func(ctx SpecContext, port string) {
			api.answers(made("1", port), made("2", port))
			remove(ctx, "1")
			Expect(ports).NotTo(BeEmpty())
			remove(ctx, "1")
			Expect(ports).NotTo(BeEmpty(), "a second time, when the server is gone")
			remove(ctx, "2")
			Expect(ports).To(BeEmpty(), "nobody needs it any more")
		},
		Entry("that both were made with", port),
		Entry("of which they do not tell", ""),
	)

	It("should delete the port of a server although there is another one with a port of its own", func(ctx SpecContext) {
		ports = append(ports, "other")
		api.answers(made("1", port), made("2", "other"))
		remove(ctx, "1")
		Expect(ports).To(ConsistOf("other"))
	})

	It("should delete the ports of a server that somebody else deleted", func(ctx SpecContext) {
		remove(ctx, "1")
		Expect(ports).To(BeEmpty())
	})

	It("should delete the ports of a server that the API still shows, as deleted", func(ctx SpecContext) {
		gone := made("1", port)
		gone.Status = "DELETED"
		api.answers(gone)
		remove(ctx, "1")
		Expect(ports).To(BeEmpty())
	})

	It("should delete the ports of a server that does not exist and is still listed", func(ctx SpecContext) {
		api.answers(made("1", port))
		_, err := c.snapshot.get(ctx, listAge)
		Expect(err).NotTo(HaveOccurred())
		c.snapshot.forget("1")
		serve := api.serve
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/servers/1" {
				fault(http.StatusNotFound, `{"itemNotFound": {"code": 404, "message": "Instance could not be found."}}`)(w, r)
				return
			}
			serve(w, r)
		}
		remove(ctx, "1")
		Expect(ports).To(BeEmpty())
	})

	It("should delete the port that another server had that is gone without a change that says so", func(ctx SpecContext) {
		api.date = time.Now()
		api.answers(made("1", port), made("2", port))
		_, err := c.snapshot.get(ctx, listAge)
		Expect(err).NotTo(HaveOccurred())
		api.answers(made("1", port))
		remove(ctx, "1")
		Expect(ports).To(BeEmpty())
		Expect(c.snapshot.get(ctx, listAge)).To(BeEmpty())
	})

	It("should delete the ports of a machine that never got a server", func(ctx SpecContext) {
		Expect(c.delete(ctx)).To(Succeed())
		Expect(ports).To(BeEmpty())
	})

	DescribeTable("should say of a server that is still there", func(ctx SpecContext, status, task, message string, progress bool) {
		s := made("1", port)
		s.Status, s.Task = status, task
		api.answers(s)
		c.request.ProviderID = providerIDPrefix + "1"
		err := c.waitUntilGone(ctx, &s, time.Now().Add(-deletionTimeout))
		Expect(err).To(MatchError(message))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(platform.IsProgress(err)).To(Equal(progress))
	},
		Entry("that it is being deleted", "ACTIVE", "deleting", `server "shoot--local--a-1" (1) is being deleted`, true),
		Entry("that it is being deleted if it never ran", "ERROR", "deleting", `server "shoot--local--a-1" (1) is being deleted`, true),
		Entry("that it could not be deleted", "ERROR", "",
			`server "shoot--local--a-1" (1) is in status ERROR after its deletion was accepted`, false),
	)

	DescribeTable("should wait longer if nobody asks again", func(ctx SpecContext, change func()) {
		s := made("1", port)
		api.answers(s)
		c.request.ProviderID = providerIDPrefix + "1"
		change()
		interrupted, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := c.waitUntilGone(interrupted, &s, time.Now().Add(-deletionTimeout))
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(platform.IsProgress(c.waitUntilGone(ctx, &s, time.Now().Add(-finalTimeout)))).To(BeTrue())
	},
		Entry("because there is no Machine", func() { c.request.Once = true }),
		Entry("because the server cannot be found again", func() { c.request.ProviderID = "" }),
	)

	It("should delete the port and the volumes of a server that goes when it is asked for again", func(ctx SpecContext) {
		s := made("1", port)
		s.Volumes = []attachedVolume{{ID: "root", DeleteOnTermination: true}}
		api.answers(s)
		var (
			serve                  = api.serve
			interrupted, interrupt = context.WithCancel(ctx)
			deletions              int
		)
		defer interrupt()
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete || !strings.HasPrefix(r.URL.Path, "/servers/") {
				serve(w, r)
				return
			}
			api.answers()
			if deletions++; deletions == 1 {
				s.Task, s.Volumes = taskDeleting, nil
				api.answers(s)
				interrupt()
			}
			w.WriteHeader(http.StatusNoContent)
		}
		c.request.ProviderID = providerIDPrefix + "1"
		Expect(c.delete(interrupted)).NotTo(Succeed())
		Expect(c.snapshot.get(ctx, 0)).To(HaveKeyWithValue("1", HaveField("Task", taskDeleting)))
		Expect(ports).To(ConsistOf(port))

		remove(ctx, "1")
		Expect(deletions).To(Equal(2))
		Expect(ports).To(BeEmpty())
		Expect(api.read).To(ContainElement("root"), "its volume is looked for")
	})
})
