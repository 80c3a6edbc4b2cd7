// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var _ = Describe("Snapshot", func() {
	var (
		api *nova
		s   *snapshot
		now time.Time
	)

	BeforeEach(func() {
		api = newNova()
		// The clocks differ, and only that of the API counts for what changed.
		api.date = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
		now = time.Now()
		s = newSnapshot(api.compute, ours, func() time.Time { return now })
	})

	ids := func(v view) []string { return slices.Sorted(maps.Keys(v)) }
	get := func(ctx context.Context) []string {
		v, err := s.get(ctx, statusAge)
		Expect(err).NotTo(HaveOccurred())
		return ids(v)
	}
	// later is get when the view has become too old.
	later := func(ctx context.Context, d time.Duration) []string {
		now = now.Add(d)
		return get(ctx)
	}
	full := HaveKeyWithValue("name", []string{`^shoot--local--a-`})
	changes := HaveKey("changes-since")

	It("should ask for all servers of the shoot once, and then for what changed", func(ctx SpecContext) {
		api.answers(newServer("1", "ACTIVE"), newServer("2", "ACTIVE"))
		Expect(get(ctx)).To(Equal([]string{"1", "2"}))
		Expect(later(ctx, time.Duration(statusAge))).To(Equal([]string{"1", "2"}), "it is young enough")
		Expect(api.queries()).To(HaveExactElements(And(full, Not(changes))))

		api.answers(newServer("2", "SHUTOFF"), newServer("3", "ACTIVE"))
		Expect(later(ctx, 6*time.Second)).To(Equal([]string{"1", "2", "3"}))
		Expect(api.queries()).To(HaveLen(2))
		Expect(api.queries()[1]).To(And(full, HaveKeyWithValue("changes-since", []string{"2020-01-02T03:03:55Z"})))
		v, err := s.get(ctx, statusAge)
		Expect(err).NotTo(HaveOccurred())
		Expect(v.byID("2").Status).To(Equal("SHUTOFF"))
		Expect(v.byName(ours.Shoot + "-3").ID).To(Equal("3"))
		Expect(v.byName("3")).To(BeNil())
	})

	It("should ask for all servers each time if the API tells no time", func(ctx SpecContext) {
		api.date = time.Time{}
		api.answers(newServer("1", "ACTIVE"))
		Expect(get(ctx)).To(Equal([]string{"1"}))
		api.answers(newServer("2", "ACTIVE"))
		Expect(later(ctx, 6*time.Second)).To(Equal([]string{"2"}))
		Expect(api.queries()).To(HaveEach(Not(changes)))
	})

	It("should remove a server that is gone", func(ctx SpecContext) {
		api.answers(newServer("1", "ACTIVE"), newServer("2", "ACTIVE"))
		Expect(get(ctx)).To(HaveLen(2))
		api.answers(newServer("1", "DELETED"))
		Expect(later(ctx, 6*time.Second)).To(Equal([]string{"2"}))
	})

	It("should know a server that is kept to be restored, but not by its name", func(ctx SpecContext) {
		api.answers(newServer("1", "SOFT_DELETED"))
		Expect(get(ctx)).To(Equal([]string{"1"}))
		v, err := s.get(ctx, statusAge)
		Expect(err).NotTo(HaveOccurred())
		Expect(v.byName(ours.Shoot + "-1")).To(BeNil())
	})

	It("should leave out the servers of others", func(ctx SpecContext) {
		foreign := func(id string, o owner.Owner) server {
			return server{ID: id, Name: ours.Shoot + "-b-" + id, Status: "ACTIVE", Metadata: o.Metadata()}
		}
		api.answers(newServer("1", "ACTIVE"),
			foreign("longer", owner.Owner{Shoot: ours.Shoot + "-b", Site: ours.Site}),
			foreign("site", owner.Owner{Shoot: ours.Shoot, Site: "other"}),
			server{ID: "nobody", Name: ours.Shoot + "-x", Status: "ACTIVE"})
		Expect(get(ctx)).To(Equal([]string{"1"}))
		Expect(later(ctx, 6*time.Second)).To(Equal([]string{"1"}))
		Expect(api.queries()).To(HaveLen(2))
	})

	DescribeTable("should look which servers exist after a while, because not every end counts as a change",
		func(ctx SpecContext, status string, after time.Duration) {
			api.answers(newServer("1", status), newServer("2", status))
			Expect(get(ctx)).To(Equal([]string{"1", "2"}))
			api.answers()
			api.hides(newServer("2", status))
			Expect(later(ctx, after)).To(Equal([]string{"1", "2"}))
			Expect(api.shorts).To(BeZero())
			Expect(later(ctx, 6*time.Second)).To(Equal([]string{"2"}))
			Expect(api.shorts).To(Equal(1))
			Expect(api.queries()).To(HaveExactElements(Not(changes), changes, changes))
			Expect(api.read).To(ConsistOf("1"), "it may only have got another name")
			Expect(later(ctx, 6*time.Second)).To(Equal([]string{"2"}))
			Expect(api.shorts).To(Equal(1))
		},
		Entry("of servers that run", "ACTIVE", fullAge-time.Second),
		Entry("of servers that are being built", "BUILD", fullAgeBuilding-time.Second),
	)

	Describe("servers that only the list of IDs has", func() {
		foreign := server{ID: "9", Name: ours.Shoot + "-b-9", Status: "ACTIVE",
			Metadata: owner.Owner{Shoot: ours.Shoot + "-b", Site: ours.Site}.Metadata()}

		BeforeEach(func(ctx SpecContext) {
			api.answers(newServer("1", "ACTIVE"))
			Expect(get(ctx)).To(Equal([]string{"1"}))
		})

		It("should count only if what they say of themselves is ours, and be read once", func(ctx SpecContext) {
			api.hides(newServer("2", "ACTIVE"), foreign)
			for range 2 {
				Expect(later(ctx, fullAge+time.Second)).To(Equal([]string{"1", "2"}))
			}
			Expect(api.read).To(ConsistOf("2", "9"))
			Expect(api.shorts).To(Equal(2))
		})

		It("should not be read if the list of details told that they are not ours", func(ctx SpecContext) {
			api.answers(newServer("1", "ACTIVE"), foreign)
			Expect(later(ctx, 6*time.Second)).To(Equal([]string{"1"}))
			Expect(later(ctx, fullAge+time.Second)).To(Equal([]string{"1"}))
			Expect(api.shorts).To(Equal(1))
			Expect(api.read).To(BeEmpty())
		})

		It("should be listed with details if they are many", func(ctx SpecContext) {
			var many []server
			for i := range maxReads + 1 {
				many = append(many, newServer(fmt.Sprintf("new-%d", i), "ACTIVE"))
			}
			api.hides(many...)
			api.before = func() {
				if api.shorts == 1 {
					api.answers(append(many, newServer("1", "ACTIVE"))...)
				}
			}
			Expect(later(ctx, fullAge+time.Second)).To(HaveLen(maxReads + 2))
			Expect(api.queries()).To(HaveExactElements(Not(changes), changes, Not(changes)))
			Expect(api.read).To(BeEmpty())
		})

		It("should be no error if they are gone when they are read, and one if the API fails", func(ctx SpecContext) {
			api.hides(newServer("2", "ACTIVE"))
			api.serve = fault(404, `{"itemNotFound": {"code": 404, "message": "Instance 2 could not be found."}}`)
			Expect(later(ctx, fullAge+time.Second)).To(Equal([]string{"1"}))
			api.serve = fault(503, "")
			now = now.Add(fullAge + time.Second)
			_, err := s.get(ctx, statusAge)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			api.serve = nil
			Expect(get(ctx)).To(Equal([]string{"1", "2"}))
		})
	})

	It("should make one request for many callers", func(ctx SpecContext) {
		const callers = 20
		began, proceed := make(chan struct{}), make(chan struct{})
		api.before = func() {
			close(began)
			<-proceed
		}
		api.answers(newServer("1", "ACTIVE"))

		var group sync.WaitGroup
		waits := make(chan struct{}, callers+1)
		ask := func() {
			defer GinkgoRecover()
			Expect(get(observed{ctx, waits})).To(Equal([]string{"1"}))
		}
		group.Go(ask)
		<-began
		for range callers {
			group.Go(ask)
		}
		for range callers + 1 {
			<-waits
		}
		close(proceed)
		group.Wait()
		Expect(api.queries()).To(HaveLen(1))
	})

	It("should finish a request for others when the caller gives up", func(ctx SpecContext) {
		began, proceed := make(chan struct{}), make(chan struct{})
		api.before = func() {
			close(began)
			<-proceed
		}
		api.answers(newServer("1", "ACTIVE"))
		impatient, cancel := context.WithCancel(ctx)
		gaveUp := make(chan error, 1)
		go func() {
			_, err := s.get(impatient, statusAge)
			gaveUp <- err
		}()
		<-began
		cancel()
		err := <-gaveUp
		Expect(err).To(MatchError(context.Canceled))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		close(proceed)
		Expect(get(ctx)).To(Equal([]string{"1"}))
		Expect(api.queries()).To(HaveLen(1))
	})

	Describe("add and forget", func() {
		created := func(id string) *server {
			return &server{ID: id, Name: ours.Shoot + "-" + id, Status: "BUILD", Metadata: ours.Metadata()}
		}

		It("should count at once", func(ctx SpecContext) {
			api.answers(newServer("1", "ACTIVE"))
			Expect(get(ctx)).To(Equal([]string{"1"}))
			s.add(created("2"))
			Expect(get(ctx)).To(Equal([]string{"1", "2"}))
			s.forget("1")
			Expect(get(ctx)).To(Equal([]string{"2"}))
			Expect(api.queries()).To(HaveLen(1))
		})

		It("should not hide that there was no list yet", func(ctx SpecContext) {
			s.add(created("2"))
			api.answers(newServer("1", "ACTIVE"))
			Expect(get(ctx)).To(ContainElement("1"))
			Expect(api.queries()).To(HaveLen(1))
		})

		It("should not change a view that somebody has", func(ctx SpecContext) {
			api.answers(newServer("1", "ACTIVE"))
			v, err := s.get(ctx, statusAge)
			Expect(err).NotTo(HaveOccurred())
			s.add(created("2"))
			s.forget("1")
			Expect(ids(v)).To(Equal([]string{"1"}))
		})

		DescribeTable("should survive an answer that does not know yet",
			func(ctx SpecContext, age time.Duration, shorts int) {
				api.answers(newServer("1", "ACTIVE"), newServer("2", "ACTIVE"))
				Expect(get(ctx)).To(HaveLen(2))
				api.before = func() {
					s.add(created("3"))
					s.forget("1")
				}
				Expect(later(ctx, age)).To(Equal([]string{"2", "3"}))
				Expect(api.shorts).To(Equal(shorts))
			},
			Entry("of what changed", 6*time.Second, 0),
			Entry("of everything", fullAge+time.Second, 1),
		)
	})

	It("should say what is wrong, never that servers are gone, and ask again", func(ctx SpecContext) {
		api.answers(newServer("1", "ACTIVE"))
		Expect(get(ctx)).To(Equal([]string{"1"}))
		endpoint := api.compute.Endpoint
		for _, answer := range []http.HandlerFunc{
			fault(404, `{"itemNotFound": {"code": 404, "message": "No such project."}}`),
			fault(404, "404 page not found"),
			fault(503, ""),
		} {
			api.serve = answer
			api.compute.Endpoint = endpoint + "broken/"
			now = now.Add(6 * time.Second)
			_, err := s.get(ctx, statusAge)
			Expect(err).To(HaveOccurred())
			Expect(client.IsNotFound(err)).To(BeFalse())
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

			api.compute.Endpoint = endpoint
			Expect(get(ctx)).To(Equal([]string{"1"}))
		}
	})
})

// observed tells when somebody begins to wait for the context.
type observed struct {
	context.Context
	waits chan<- struct{}
}

func (o observed) Done() <-chan struct{} {
	o.waits <- struct{}{}
	return o.Context.Done()
}
