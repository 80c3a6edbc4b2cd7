// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// reset stands for a connection that ends without an answer.
const reset = 0

var _ = Describe("Retry", func() {
	var (
		answers    []int
		retryAfter string
		requests   atomic.Int32
		waits      []time.Duration
		waitErr    error
		session    *Session
		now        time.Time
	)

	BeforeEach(func(ctx SpecContext) {
		answers, retryAfter, waits, waitErr = nil, "", nil, nil
		requests.Store(0)
		c := newCloud(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			code := http.StatusOK
			if i := int(requests.Add(1)) - 1; i < len(answers) {
				code = answers[i]
			}
			if code == reset {
				panic(http.ErrAbortHandler)
			}
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			answer(w, code, `{"ports": []}`)
		})
		// net/http repeats requests by itself on connections that it has used before.
		c.Config.SetKeepAlivesEnabled(false)
		sessions := NewSessions()
		now = time.Now()
		sessions.retry.now = func() time.Time { return now }
		sessions.retry.wait = func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			now = now.Add(d)
			return waitErr
		}
		var err error
		session, err = sessions.Get(ctx, "cloud", c.connection(), credentials())
		Expect(err).NotTo(HaveOccurred())
	})

	request := func(ctx context.Context, method string) error {
		network, err := session.Network(context.WithoutCancel(ctx))
		Expect(err).NotTo(HaveOccurred())
		switch method {
		case http.MethodGet:
			_, err = network.Get(ctx, network.ServiceURL("ports"), nil, nil)
		case http.MethodDelete:
			_, err = network.Delete(ctx, network.ServiceURL("ports"), nil)
		case http.MethodPost:
			_, err = network.Post(ctx, network.ServiceURL("ports"), map[string]string{}, nil, nil)
		case http.MethodPut:
			_, err = network.Put(ctx, network.ServiceURL("ports"), map[string]string{}, nil, nil)
		}
		return Classify(err)
	}

	DescribeTable("passing problems",
		func(ctx SpecContext, method string, sent int, succeeds bool, codes ...int) {
			answers = codes
			err := request(ctx, method)
			if succeeds {
				Expect(err).NotTo(HaveOccurred())
			} else {
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
				Expect(err).To(HaveOccurred())
			}
			Expect(requests.Load()).To(BeEquivalentTo(sent))
			Expect(waits).To(HaveLen(sent - 1))
			for i, d := range waits {
				Expect(d).To(And(BeNumerically(">=", firstBackoff<<i), BeNumerically("<", firstBackoff<<i*3/2)))
			}
		},
		Entry("GET", http.MethodGet, 4, true, 503, 502, 504, 200),
		Entry("GET, reset", http.MethodGet, 2, true, reset, 200),
		Entry("GET, for ever", http.MethodGet, 4, false, 503, 503, 503, 503, 200),
		Entry("GET, internal error", http.MethodGet, 1, false, 500),
		Entry("DELETE", http.MethodDelete, 4, true, 503, 502, 504, 204),
		Entry("DELETE, reset", http.MethodDelete, 2, true, reset, 204),
		Entry("DELETE, for ever", http.MethodDelete, 4, false, 502, 502, 502, 502, 204),
		Entry("POST", http.MethodPost, 1, false, 503, 201),
		Entry("POST, reset", http.MethodPost, 1, false, reset, 201),
		Entry("PUT", http.MethodPut, 1, false, 504, 201),
		Entry("PUT, reset", http.MethodPut, 1, false, reset, 201),
	)

	DescribeTable("too many requests",
		func(ctx SpecContext, method, after string, waited OmegaMatcher, success int) {
			answers, retryAfter = []int{429, success}, after
			Expect(request(ctx, method)).To(Succeed())
			Expect(requests.Load()).To(BeEquivalentTo(2))
			Expect(waits).To(HaveExactElements(waited))
		},
		Entry("GET", http.MethodGet, "7", Equal(7*time.Second), 200),
		Entry("POST", http.MethodPost, "7", Equal(7*time.Second), 201),
		Entry("PUT", http.MethodPut, "30", Equal(30*time.Second), 201),
		Entry("DELETE", http.MethodDelete, "1", Equal(time.Second), 204),
		Entry("a date", http.MethodPost, time.Now().Add(20*time.Second).UTC().Format(http.TimeFormat),
			And(BeNumerically(">", 0), BeNumerically("<=", 20*time.Second)), 201),
		Entry("no time", http.MethodPost, "", Equal(firstBackoff), 201),
	)

	DescribeTable("should not wait for longer than a caller should be blocked, say how long that is, and send nothing meanwhile",
		func(ctx SpecContext, code int, method, after string) {
			answers, retryAfter = []int{code, http.StatusCreated}, after
			if method == http.MethodGet {
				answers[1] = http.StatusOK
			}
			for range 2 {
				err := request(ctx, method)
				var classified *platform.Error
				Expect(errors.As(err, &classified)).To(BeTrue())
				Expect(classified.Class).To(Equal(platform.ClassTransient))
				Expect(classified.RetryAfter).To(BeNumerically(">", maxRetryAfter))
				Expect(classified.RetryAfter).To(BeNumerically("<=", time.Hour))
			}
			Expect(requests.Load()).To(BeEquivalentTo(1))

			now = now.Add(time.Hour)
			Expect(request(ctx, method)).To(Succeed())
			Expect(requests.Load()).To(BeEquivalentTo(2))
		},
		Entry("too many requests", 429, http.MethodGet, "31"),
		Entry("too many creations", 429, http.MethodPost, "31"),
		Entry("overloaded", 503, http.MethodPost, "31"),
		Entry("for days", 429, http.MethodGet, "99999999999"),
		Entry("until a date", 429, http.MethodGet, time.Now().Add(48*time.Hour).UTC().Format(http.TimeFormat)),
	)

	It("should hold back the requests of all callers to a service that asked for time, and of no other", func(ctx SpecContext) {
		answers, retryAfter = []int{503, 200, 201}, "7"
		Expect(request(ctx, http.MethodPost)).To(MatchError(ContainSubstring("503 Service Unavailable")))
		Expect(waits).To(BeEmpty())

		image, err := session.Image(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = image.Get(ctx, image.ServiceURL("images"), nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(waits).To(BeEmpty())

		hurried, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err = request(hurried, http.MethodPost)
		Expect(err).To(MatchError(ContainSubstring("network API: the service asked clients to back off: retry in 7s")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(waits).To(BeEmpty())
		Expect(requests.Load()).To(BeEquivalentTo(2))

		Expect(request(ctx, http.MethodPost)).To(Succeed())
		Expect(waits).To(HaveExactElements(7 * time.Second))
		Expect(requests.Load()).To(BeEquivalentTo(3))
	})

	It("should not wait for a service that keeps refusing", func(ctx SpecContext) {
		answers = []int{429, 429, 429, 429, 201}
		Expect(request(ctx, http.MethodPost)).NotTo(Succeed())
		Expect(waits).To(Equal([]time.Duration{firstBackoff, 2 * firstBackoff, 4 * firstBackoff}))
	})

	It("should return the problem itself if the caller gives up while it waits", func(ctx SpecContext) {
		waitErr = context.Canceled
		answers = []int{503, 429}
		Expect(request(ctx, http.MethodGet)).To(MatchError(ContainSubstring("503 Service Unavailable")))
		Expect(request(ctx, http.MethodGet)).To(MatchError(ContainSubstring("429 Too Many Requests")))
	})

	It("should not repeat what the caller gave up", func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := request(ctx, http.MethodGet)
		Expect(errors.Is(err, context.Canceled)).To(BeTrue())
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(waits).To(BeEmpty())
	})

	It("should wait until the caller gives up", func() {
		ctx, cancel := context.WithCancel(context.Background())
		Expect(wait(ctx, time.Nanosecond)).To(Succeed())
		cancel()
		Expect(wait(ctx, time.Hour)).To(MatchError(context.Canceled))
	})
})
