// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

var _ = Describe("Proxy", func() {
	var (
		alpha, beta *httptest.Server
		hits        atomic.Int32
		host        atomic.Value
		proxy       *Proxy
		client      *http.Client
	)

	BeforeEach(func() {
		hits.Store(0)
		beta = httptest.NewServer(http.NotFoundHandler())
		DeferCleanup(beta.Close)
		alpha = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hits.Add(1)
			host.Store(r.Host)
			if r.URL.Path == "/plain" {
				_, _ = io.WriteString(w, beta.URL)
				return
			}
			w.Header().Set("Location", beta.URL+"/new")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"next":"http://%s/v2/things?marker=1","other":%q}`, r.Host, beta.URL)
		}))
		DeferCleanup(alpha.Close)

		var err error
		proxy, err = New(Service{Name: "alpha", Upstream: alpha.URL}, Service{Name: "beta", Upstream: beta.URL + "/"})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(proxy.Close)

		transport := &http.Transport{MaxIdleConnsPerHost: 8}
		DeferCleanup(transport.CloseIdleConnections)
		client = &http.Client{Transport: transport, Timeout: 5 * time.Second}
	})

	do := func(ctx context.Context, method, path string) (*http.Response, string, error) {
		request, err := http.NewRequestWithContext(ctx, method, proxy.URL("alpha")+path, strings.NewReader("1234"))
		Expect(err).NotTo(HaveOccurred())
		response, err := client.Do(request)
		if err != nil {
			return nil, "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return response, string(body), err
	}

	status := func(ctx context.Context, method, path string) int {
		response, _, err := do(ctx, method, path)
		if err != nil {
			return 0
		}
		return response.StatusCode
	}

	Describe("forwarding", func() {
		It("should keep the client behind the proxy", func(ctx SpecContext) {
			response, body, err := do(ctx, http.MethodPost, "/things")
			Expect(err).NotTo(HaveOccurred())
			Expect(response.StatusCode).To(Equal(http.StatusCreated))
			Expect(body).To(Equal(fmt.Sprintf(`{"next":"%s/v2/things?marker=1","other":%q}`, proxy.URL("alpha"), proxy.URL("beta"))))
			Expect(response.Header.Get("Location")).To(Equal(proxy.URL("beta") + "/new"))
			Expect(host.Load()).To(Equal(strings.TrimPrefix(alpha.URL, "http://")))
		})

		It("should leave bodies alone that are neither JSON nor XML", func(ctx SpecContext) {
			_, body, err := do(ctx, http.MethodGet, "/plain")
			Expect(err).NotTo(HaveOccurred())
			Expect(body).To(Equal(beta.URL))
		})

		It("should answer 502 when the service is away", func(ctx SpecContext) {
			alpha.Close()
			Expect(status(ctx, http.MethodGet, "/x")).To(Equal(http.StatusBadGateway))
		})
	})

	Describe("the log", func() {
		It("should have an entry for each request of the label", func(ctx SpecContext) {
			proxy.SetLabel("other")
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))
			proxy.SetLabel("one")
			Expect(status(ctx, http.MethodPost, "/v3/0f0f0f0f-0000-4000-8000-00000000000a/x?b=1&a=2&a=3")).To(Equal(http.StatusCreated))
			Expect(status(ctx, http.MethodPost, "/v3/auth/tokens")).To(Equal(http.StatusCreated))
			Expect(status(ctx, http.MethodGet, "/v2.1/")).To(Equal(http.StatusCreated))
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))

			entries := proxy.Requests("one")
			Expect(entries).To(HaveLen(4))
			Expect(entries[0].Pattern).To(Equal("POST /v3/{id}/x?a*2&b"))
			Expect(entries[0].RequestBytes).To(Equal(4))
			Expect(entries[0].ResponseBytes).To(BeNumerically(">", 0))
			Expect(entries[0].Service).To(Equal("alpha"))
			Expect(entries[0].NewConnection).To(BeFalse())
			Expect([]Kind{entries[0].Kind, entries[1].Kind, entries[2].Kind,
				entries[3].Kind}).To(Equal([]Kind{KindWrite, KindAuth, KindDiscovery, KindRead}))
			Expect(RoundTrips(Intervals(entries))).To(Equal(4))
			Expect(proxy.Requests("other")).To(ConsistOf(HaveField("NewConnection", true)))
			Expect(proxy.OpenConnections("alpha")).To(Equal(1))
		})

		It("should name the operation of a SOAP request", func(ctx SpecContext) {
			body := `<?xml version="1.0"?><Envelope><Header><operationID>1</operationID></Header><Body><PowerOffVM_Task/></Body></Envelope>`
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, proxy.URL("alpha")+"/sdk", strings.NewReader(body))
			Expect(err).NotTo(HaveOccurred())
			request.Header.Set("SOAPAction", "urn:vim25")
			response, err := client.Do(request)
			Expect(err).NotTo(HaveOccurred())
			Expect(response.Body.Close()).To(Succeed())
			Expect(status(ctx, http.MethodGet, "/v2/things")).To(Equal(http.StatusCreated))
			Expect(proxy.Requests("")).To(HaveExactElements(HaveField("Operation", "PowerOffVM_Task"), HaveField("Operation", "")))
		})

		It("should tell parallel from serial requests", func(ctx SpecContext) {
			Expect(proxy.SetFaults(Fault{Name: "rtt", Action: ActionDelay, Delay: time.Second})).To(Succeed())
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					defer GinkgoRecover()
					Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))
				})
			}
			group.Wait()
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))

			entries := proxy.Requests("")
			Expect(entries).To(HaveLen(5))
			Expect(RoundTrips(Intervals(entries))).To(Equal(2))
			Expect(Span(Intervals(entries))).To(BeNumerically(">=", 2*time.Second))
			Expect(entries[3].InFlight).To(Equal(4))
		})
	})

	Describe("faults", func() {
		It("should act on what matches, after skip, and so often as told", func(ctx SpecContext) {
			Expect(proxy.SetFaults(Fault{Name: "f", Service: "alpha", Method: http.MethodGet, Path: "^/x$", Skip: 1, Times: 2, Action: ActionStatus,
				Status: 429})).To(Succeed())
			var got []int
			for _, path := range []string{"/x", "/y", "/x", "/x", "/x"} {
				got = append(got, status(ctx, http.MethodGet, path))
			}
			Expect(got).To(Equal([]int{201, 201, 429, 429, 201}))
			Expect(hits.Load()).To(BeNumerically("==", 3))
			Expect(proxy.Acted("f")).To(Equal(2))
			Expect(proxy.Requests("")[2]).To(And(HaveField("Fault", "f"), HaveField("Status", 429)))
		})

		It("should answer with header and body", func(ctx SpecContext) {
			Expect(proxy.SetFaults(Fault{Action: ActionStatus, Status: 503, Header: http.Header{"Retry-After": {"7"}}, Body: "{}"})).To(Succeed())
			response, body, err := do(ctx, http.MethodGet, "/x")
			Expect(err).NotTo(HaveOccurred())
			Expect(response.StatusCode).To(Equal(503))
			Expect(response.Header.Get("Retry-After")).To(Equal("7"))
			Expect(body).To(Equal("{}"))
		})

		DescribeTable("losing a request or its answer",
			func(ctx SpecContext, fault Fault, expectedStatus, expectedHits int) {
				Expect(proxy.SetFaults(fault)).To(Succeed())
				Expect(status(ctx, http.MethodPost, "/x")).To(Equal(expectedStatus))
				Expect(hits.Load()).To(BeNumerically("==", expectedHits))
				Expect(proxy.Requests("")).To(ConsistOf(And(HaveField("Fault", fault.Name), HaveField("Status", expectedStatus))))
			},
			Entry("refused", Fault{Name: "refused", Action: ActionStatus, Status: 503}, 503, 0),
			Entry("answer replaced", Fault{Name: "replaced", Action: ActionStatus, Status: 503, After: true}, 503, 1),
			Entry("reset before", Fault{Name: "reset", Method: http.MethodPost, Action: ActionReset}, 0, 0),
			Entry("reset after", Fault{Name: "lost", Kind: KindWrite, Action: ActionReset, After: true}, 0, 1),
		)

		It("should let a function answer, and a clock be wrong", func(ctx SpecContext) {
			proxy.SetSkew("alpha", -time.Hour)
			response, _, err := do(ctx, http.MethodGet, "/x")
			Expect(err).NotTo(HaveOccurred())
			date, err := http.ParseTime(response.Header.Get("Date"))
			Expect(err).NotTo(HaveOccurred())
			Expect(date).To(BeTemporally("~", time.Now().Add(-time.Hour), time.Minute))

			Expect(proxy.SetFaults(Fault{Action: ActionAnswer, Answer: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusTeapot)
			}})).To(Succeed())
			Expect(status(ctx, http.MethodGet, "/x")).To(Equal(http.StatusTeapot))
		})

		It("should hang until the client gives up", func(ctx SpecContext) {
			Expect(proxy.SetFaults(Fault{Name: "hang", Action: ActionHang})).To(Succeed())
			patient, cancel := context.WithCancel(ctx)
			defer cancel()
			answers := make(chan error)
			go func() {
				_, _, err := do(patient, http.MethodGet, "/x")
				answers <- err
			}()
			Eventually(proxy.Acted).WithArguments("hang").Within(10 * time.Second).Should(Equal(1))
			Consistently(answers, "50ms").ShouldNot(Receive())
			cancel()
			Eventually(answers).Within(10 * time.Second).Should(Receive(MatchError(context.Canceled)))
			Expect(proxy.Requests("")).To(ConsistOf(HaveField("Status", 0)))
		})

		It("should delay only the first use of a connection", func(ctx SpecContext) {
			Expect(proxy.SetFaults(Fault{FirstUse: true, Action: ActionDelay, Delay: time.Second})).To(Succeed())
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))
			entries := proxy.Requests("")
			Expect(entries[0].End.Sub(entries[0].Start)).To(BeNumerically(">=", time.Second))
			Expect(entries[1].End.Sub(entries[1].Start)).To(BeNumerically("<", time.Second))
		})

		It("should call before the answer is lost, and tell clients apart", func(ctx SpecContext) {
			var called []Request
			Expect(proxy.SetFaults(Fault{Name: "call", Client: "Go-http-client", Kind: KindWrite, Skip: 1, Times: 1, After: true,
				Action: ActionCall, Call: func(r Request) { called = append(called, r) }},
				Fault{Name: "other", Client: "other", Action: ActionStatus, Status: 503})).To(Succeed())
			var got []int
			for range 3 {
				got = append(got, status(ctx, http.MethodPost, "/x"))
			}
			Expect(got).To(Equal([]int{201, 0, 201}))
			Expect(hits.Load()).To(BeNumerically("==", 3))
			Expect(called).To(ConsistOf(And(HaveField("Pattern", "POST /x"), HaveField("ServiceStatus", 201),
				HaveField("Client", "Go-http-client"))))
			Expect(proxy.Requests("")[1]).To(And(HaveField("Fault", "call"), HaveField("Status", 0), HaveField("ServiceStatus", 201)))
			Expect(proxy.Acted("other")).To(BeZero())
		})

		DescribeTable("refusing bad rules",
			func(fault Fault) { Expect(proxy.SetFaults(fault)).NotTo(Succeed()) },
			Entry("no action", Fault{}),
			Entry("unknown action", Fault{Action: "explode"}),
			Entry("nothing to call", Fault{Action: ActionCall}),
			Entry("no answer", Fault{Action: ActionAnswer}),
			Entry("no status", Fault{Action: ActionStatus}),
			Entry("bad path", Fault{Action: ActionDelay, Path: "("}),
			Entry("bad query", Fault{Action: ActionDelay, Query: "("}),
		)
	})

	Describe("outages", func() {
		It("should refuse connections to the service alone until it is up again", func(ctx SpecContext) {
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))
			Expect(proxy.TakeDown("alpha")).To(Succeed())
			_, _, err := do(ctx, http.MethodGet, "/plain")
			Expect(err).To(MatchError(syscall.ECONNREFUSED))
			response, err := client.Get(proxy.URL("beta"))
			Expect(err).NotTo(HaveOccurred())
			Expect(response.Body.Close()).To(Succeed())
			Expect(proxy.BringUp("alpha")).To(Succeed())
			Expect(status(ctx, http.MethodGet, "/plain")).To(Equal(http.StatusOK))
		})

		It("should refuse what makes no sense", func() {
			Expect(proxy.BringUp("alpha")).NotTo(Succeed())
			Expect(proxy.BringUp("other")).NotTo(Succeed())
			Expect(proxy.TakeDown("alpha")).To(Succeed())
			Expect(proxy.TakeDown("alpha")).NotTo(Succeed())
		})
	})

	It("should refuse an upstream that is no base URL", func() {
		_, err := New(Service{Name: "a", Upstream: alpha.URL}, Service{Name: "b", Upstream: "http://example.com/path"})
		Expect(err).To(MatchError(ContainSubstring(`service "b"`)))
	})
})
