// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/sessions"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type session struct{ Number int64 }

var _ = Describe("Set", func() {
	var (
		opened, closed, kept atomic.Int64
		fail                 atomic.Pointer[error]
		block                chan struct{}
		options              sessions.Options[string, *session]
	)

	BeforeEach(func() {
		opened.Store(0)
		closed.Store(0)
		kept.Store(0)
		fail.Store(nil)
		block = nil
		options = sessions.Options[string, *session]{
			Open: func(context.Context, string, string, string, site.Credentials) (*session, error) {
				number := opened.Add(1)
				if block != nil {
					<-block
				}
				if err := fail.Load(); err != nil {
					return nil, *err
				}
				return &session{number}, nil
			},
			Close: func(*session) { closed.Add(1) },
			Idle:  time.Hour,
			Check: time.Hour,
		}
	})

	newSet := func() *sessions.Set[string, *session] {
		set := sessions.New(options)
		DeferCleanup(set.Close)
		return set
	}
	credentials := site.Credentials{"token": "t"}

	It("should open one session for many callers", func(ctx SpecContext) {
		block = make(chan struct{})
		set := newSet()
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				defer GinkgoRecover()
				Expect(set.Get(ctx, "a", "server", credentials)).To(HaveField("Number", BeEquivalentTo(1)))
			})
		}
		Eventually(opened.Load).Should(BeEquivalentTo(1))
		close(block)
		group.Wait()
		Expect(opened.Load()).To(BeEquivalentTo(1))
	})

	It("should open one for each site, connection and credentials", func(ctx SpecContext) {
		set := newSet()
		for _, site := range []string{"a", "b"} {
			Expect(set.Get(ctx, site, "server", credentials)).NotTo(BeNil())
		}
		Expect(set.Get(ctx, "a", "other", credentials)).NotTo(BeNil())
		Expect(set.Get(ctx, "a", "server", site.Credentials{"token": "u"})).NotTo(BeNil())
		Expect(opened.Load()).To(BeEquivalentTo(4))
	})

	It("should tell credentials apart that are no text, and open nothing with them", func(ctx SpecContext) {
		set := newSet()
		for _, value := range []string{"pass\xff", "pass\xfe", "a\nb", "a\x00"} {
			_, err := set.Get(ctx, "a", "server", site.Credentials{"password": value})
			Expect(err).To(MatchError(
				`site "a": credentials: key "password" must be text in UTF-8 without line breaks and other control characters`))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		}
		Expect(opened.Load()).To(BeZero())
		Expect(set.Get(ctx, "a", "server", site.Credentials{"clientKey": "-----BEGIN\nx\n-----END\n"})).NotTo(BeNil())
		encoded, err := json.Marshal(site.Credentials{"password": "pass\xff"})
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Marshal(site.Credentials{"password": "pass\xfe"})).NotTo(MatchJSON(encoded))
	})

	It("should not remember a failure, and name the site in it", func(ctx SpecContext) {
		set := newSet()
		fail.Store(new(error(platform.NewError(platform.ClassForbidden, "no"))))
		_, err := set.Get(ctx, "a", "server", credentials)
		Expect(err).To(MatchError(`site "a": no`))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		fail.Store(nil)
		Expect(set.Get(ctx, "a", "server", credentials)).NotTo(BeNil())
	})

	It("should outlive what panics at an answer of the site", func(ctx SpecContext) {
		open := options.Open
		options.Check = 10 * time.Millisecond
		options.KeepAlive = func(context.Context, *session) error {
			kept.Add(1)
			panic("no answer")
		}
		options.Open = func(context.Context, string, string, string, site.Credentials) (*session, error) {
			var none *session
			return &session{none.Number}, nil
		}
		set := newSet()
		_, err := set.Get(ctx, "a", "server", credentials)
		Expect(err).To(MatchError(`site "a": internal error, see the log`))
		options.Open = open
		set = newSet()
		Expect(set.Get(ctx, "a", "server", credentials)).NotTo(BeNil())
		Eventually(kept.Load).Should(BeNumerically(">", 2))
	})

	It("should not open it again when a caller gives up", func(ctx SpecContext) {
		block = make(chan struct{})
		set := newSet()
		short, cancel := context.WithCancel(ctx)
		cancel()
		_, err := set.Get(short, "a", "server", credentials)
		Expect(errors.Is(err, context.Canceled)).To(BeTrue())
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		close(block)
		Expect(set.Get(ctx, "a", "server", credentials)).To(HaveField("Number", BeEquivalentTo(1)))
	})

	It("should close a session that nobody uses", func(ctx SpecContext) {
		options.Idle, options.Check = 100*time.Millisecond, 10*time.Millisecond
		set := newSet()
		Expect(set.Get(ctx, "a", "server", credentials)).NotTo(BeNil())
		Eventually(closed.Load).Should(BeEquivalentTo(1))
		Expect(set.Get(ctx, "a", "server", credentials)).To(HaveField("Number", BeEquivalentTo(2)))
	})

	It("should keep a session alive until it is closed", func(ctx SpecContext) {
		options.Check = 10 * time.Millisecond
		options.KeepAlive = func(context.Context, *session) error {
			kept.Add(1)
			return errors.New("ignored")
		}
		set := newSet()
		Expect(set.Get(ctx, "a", "server", credentials)).NotTo(BeNil())
		Eventually(kept.Load).Should(BeNumerically(">", 2))
		set.Close()
		Expect(closed.Load()).To(BeEquivalentTo(1))
		after := kept.Load()
		Consistently(kept.Load, "100ms").Should(BeNumerically("<=", after+1))
	})
})
