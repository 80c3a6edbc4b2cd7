// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// endless repeats a text after a beginning.
type endless struct {
	begin, again string
	rest         string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest, e.begin = e.begin+strings.Repeat(e.again, 1000), ""
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// large is an object of which a decoder makes much more memory than there is text.
type large struct {
	Fields [100]string
	Name   string
}

var _ = Describe("Limits", func() {
	var (
		server *httptest.Server
		answer func(http.ResponseWriter, *http.Request)
		client *http.Client
	)

	clientOf := func(server *httptest.Server, change func(*Options)) *http.Client {
		address, err := url.Parse(server.URL)
		Expect(err).NotTo(HaveOccurred())
		o := Options{
			Site: "limits", Server: address, TLS: &v1alpha1.TLS{InsecureSkipVerify: true},
			Describe: func(*http.Request) (string, string) { return "service", "Method" },
		}
		if change != nil {
			change(&o)
		}
		t, err := New(o)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(t.CloseIdleConnections)
		return NewClient(t, 10*time.Second)
	}

	BeforeEach(func() {
		server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
		DeferCleanup(server.Close)
		client = clientOf(server, nil)
	})

	get := func(ctx context.Context, contentType string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", contentType)
		response, err := client.Do(request)
		if err == nil {
			DeferCleanup(response.Body.Close)
		}
		return response, err
	}
	read := func(ctx context.Context, contentType string) error {
		response, err := get(ctx, contentType)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	beTransient := func(text string) OmegaMatcher {
		return SatisfyAll(MatchError(ContainSubstring(text)), WithTransform(platform.ClassOf, Equal(platform.ClassTransient)))
	}

	const object, element = "application/json", `text/xml; charset="utf-8"`

	DescribeTable("should end an answer that",
		func(ctx SpecContext, contentType, begin, again, reason string) {
			answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				zipped := gzip.NewWriter(w)
				defer zipped.Close()
				_, _ = io.Copy(zipped, &endless{begin: begin, again: again})
			}
			Expect(read(ctx, contentType)).To(beTransient(reason))
		},
		Entry("does not end", object, `"`, "a", "larger than 10240 KiB"),
		Entry("has more elements than anybody needs", object, `{"servers":[`, `{},`, "more than 10000 elements"),
		Entry("hides them in each other", object, `[`, `[{},[]],{"a":[{}]},[`, "nested deeper than 200"),
		Entry("hides them in several lists", object, `[`, `[`+strings.Repeat("{},", 999)+`{}],`, "has as many elements"),
		Entry("hides a quotation mark", object, `["\\\"",`, `{},`, "more than 10000 elements"),
		Entry("has many fields", object, `{`, `"a":0,`, "more than 10000 elements"),
		Entry("is nested deep", object, ``, `[`, "nested deeper than 200"),
		Entry("does not end in XML", element, `<a>`, `a`, "larger than 10240 KiB"),
		Entry("has more elements than anybody needs in XML", element, `<a>`, `<b/>`, "more than 10000 elements"),
		Entry("has as many others", element, `<a>`, `<b c="d"></b>`, "more than 10000 elements"),
		Entry("hides them in several elements", element, `<a>`, `<b>`+strings.Repeat("<c/>", 999)+`</b>`, "has as many elements"),
		Entry("has many attributes", element, `<a `, `b="" `, "has as many elements"),
		Entry("is no UTF-8", object, `"`, "a\xff", "not valid UTF-8"),
		Entry("is no UTF-8 in XML", element, `<a>`, "\xe4\xbd", "not valid UTF-8"),
		Entry("is nested deep in XML", element, ``, `<a>`, "nested deeper than 200"),
	)

	DescribeTable("should let pass what sites have",
		func(ctx SpecContext, contentType, begin, again string, times int, end string) {
			answer = func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, begin, strings.Repeat(again+",", times-1), again, end)
			}
			if contentType == element {
				answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, begin, strings.Repeat(again, times), end) }
			}
			Expect(read(ctx, contentType)).To(Succeed())
		},
		Entry("1000 servers", object, `{"servers":[`,
			`{"id":"`+strings.Repeat("x", 2600)+`","addresses":[`+strings.Repeat(`{"a":"b"},`, 14)+`{}]`+strings.Repeat(`,"a":"0123456"`,
				85)+`}`, 1000, `]}`),
		Entry("5000 objects that are listed in one answer", object, `[`, `{"id":"`+strings.Repeat("x", 500)+`","tags":["a","b"]}`, 5000, `]`),
		Entry("names in all languages", object, `"a`, "\u00e9\u4f60\U0001f600", 10000, `"`),
		Entry("100 hosts with their hardware and who wrote which field", object, `{"items":[`,
			`{"metadata":{"managedFields":[{"fieldsV1":{`+strings.Repeat(`"f:01234567890123456789012345678901234567890123456789":{},`,
				250)+`"f":{}}}]},"status":[`+
				strings.Repeat(`{"name":"`+strings.Repeat("x", 150)+`","speedGbps":1},`, 60)+`{}]}`, 100, `]}`),
		Entry("1000 virtual machines", element, `<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="a"><!-- b --><soapenv:Body><returnval>`,
			`<objects><obj type="VirtualMachine">vm-1</obj>`+strings.Repeat(
				`<propSet><name>config.extraConfig["gardener.shoot"]</name>`+
					`<val xsi:type="OptionValue"><key>gardener.shoot</key><value xsi:type="xsd:string">shoot--project--name</value></val></propSet>`, 6)+
				`</objects>`, 1000, `</returnval></soapenv:Body></soapenv:Envelope>`),
	)

	It("should let nothing grow that is made of an answer", func(ctx SpecContext) {
		answer = func(w http.ResponseWriter, r *http.Request) {
			e := &endless{begin: `[`, again: `{},`}
			if strings.Contains(r.Header.Get("Content-Type"), "xml") {
				e = &endless{begin: `<a>`, again: `<b/>`}
			}
			_, _ = io.Copy(w, e)
		}
		for _, contentType := range []string{object, element} {
			response, err := get(ctx, contentType)
			Expect(err).NotTo(HaveOccurred())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if contentType == object {
				err = json.NewDecoder(response.Body).Decode(new([]large))
			} else {
				err = xml.NewDecoder(response.Body).Decode(new(struct {
					B []large `xml:"b"`
				}))
			}
			Expect(err).To(beTransient("more than 10000 elements"))
			runtime.ReadMemStats(&after)
			Expect(after.HeapAlloc).To(BeNumerically("<", before.HeapAlloc+64<<20))
		}
	})

	It("should limit an answer that says what went wrong further", func(ctx SpecContext) {
		answer = func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat("a", 600<<10))
		}
		Expect(read(ctx, object)).To(beTransient("larger than 512 KiB"))
	})

	It("should limit each event of a watch, and not their number", func(ctx SpecContext) {
		client = clientOf(server, func(o *Options) { o.Unlimited = true })
		event := `{"type":"ADDED","object":{"a":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
		answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(event, 20)) }
		Expect(read(ctx, object)).To(Succeed())
		for _, begin := range []string{`{"a":"`, ``, `{"type":"ADDED"}"`} {
			answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, &endless{begin: begin, again: "1"}) }
			Expect(read(ctx, object)).To(beTransient("larger than 10240 KiB"))
		}
	})

	It("should limit the pages of a list", func(ctx SpecContext) {
		answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }
		list := OneList(ctx)
		for range maxPages {
			Expect(read(list, object)).To(Succeed())
		}
		Expect(read(list, object)).To(beTransient("more than 200 pages"))
		Expect(read(OneList(ctx), object)).To(Succeed())
		operation := OneOperation(ctx)
		for range 2 * maxPages {
			Expect(read(operation, object)).To(Succeed())
		}

		answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `"`+strings.Repeat("a", 9<<20)+`"`) }
		list = OneList(ctx)
		for range 2 {
			Expect(read(list, object)).To(Succeed())
		}
		Expect(read(list, object)).To(beTransient("the pages of the list are larger than 20 MiB"))

		operation = OneOperation(ctx)
		for range 2 {
			Expect(read(operation, object)).To(Succeed())
		}
		Expect(read(operation, object)).To(beTransient("the pages of the list are larger than 20 MiB"))

		items := `{"servers":[{}` + strings.Repeat(",{}", maxItems-1) + `]}`
		answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, items) }
		list = OneList(ctx)
		for range 3 {
			Expect(read(list, object)).To(Succeed())
		}
		Expect(read(list, object)).To(beTransient("the pages of the list are larger than 20 MiB, or have as many elements"))

		answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `"`+strings.Repeat("a", 9<<20)+`"`) }
		list = OneList(ctx)
		for range 10 {
			before := ListState(list)
			Expect(read(list, object)).To(Succeed())
			Keep(list, before, 256<<10)
		}
		Keep(list, ListState(list), 7<<20)
		Expect(read(list, object)).To(beTransient("the pages of the list are larger than 20 MiB"))

		state := ""
		for range 10 {
			list = ContinueList(ctx, state)
			Expect(read(list, object)).To(Succeed())
			state = KeptState(state, ListState(list), 256<<10)
		}
		Expect(state).To(Equal(fmt.Sprintf("10.%d", 10*256<<10*costOfKept)))
		Expect(read(ContinueList(ctx, KeptState(state, state, 7<<20)), object)).To(beTransient("the pages of the list are larger than 20 MiB"))
	})

	It("should refuse long headers, and answers that drip", func(ctx SpecContext) {
		answer = func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", strings.Repeat("a", 65<<10)) }
		Expect(read(ctx, object)).NotTo(Succeed())

		client.Timeout = 200 * time.Millisecond
		answer = func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
		Expect(read(ctx, object)).To(MatchError(context.DeadlineExceeded))
	})

	Describe("addresses", func() {
		var reached bool

		BeforeEach(func() { reached = false })

		DescribeTable("should follow no redirect",
			func(ctx SpecContext, code int) {
				other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
				DeferCleanup(other.Close)
				for _, target := range []string{other.URL, server.URL + "/elsewhere"} {
					answer = func(w http.ResponseWriter, r *http.Request) {
						reached = reached || r.URL.Path == "/elsewhere"
						http.Redirect(w, r, target, code)
					}
					err := read(ctx, object)
					Expect(err).To(beTransient(fmt.Sprintf("redirects to another address (%d)", code)))
					Expect(err).NotTo(MatchError(Or(ContainSubstring(other.URL), ContainSubstring("elsewhere"))))
				}
				Expect(reached).To(BeFalse())
			},
			Entry(nil, http.StatusMovedPermanently),
			Entry(nil, http.StatusFound),
			Entry(nil, http.StatusSeeOther),
			Entry(nil, http.StatusTemporaryRedirect),
			Entry(nil, http.StatusPermanentRedirect),
		)

		It("should ask nobody but the site, and never without encryption", func(ctx SpecContext) {
			other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
			DeferCleanup(other.Close)
			plain := httptest.NewServer(other.Config.Handler)
			DeferCleanup(plain.Close)
			get := func(address string) error {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
				Expect(err).NotTo(HaveOccurred())
				response, err := client.Do(request)
				if err == nil {
					Expect(response.Body.Close()).To(Succeed())
				}
				return err
			}
			err := get(other.URL)
			Expect(err).To(MatchError(ContainSubstring("which does not belong to the site")))
			Expect(platform.ClassOf(errors.Unwrap(err))).To(Equal(platform.ClassConfiguration))

			t := client.Transport.(*Transport)
			for _, address := range []string{plain.URL, other.URL} {
				parsed, err := url.Parse(address)
				Expect(err).NotTo(HaveOccurred())
				t.Allow(parsed)
			}
			Expect(get(plain.URL)).To(MatchError(ContainSubstring("must use https")))
			Expect(reached).To(BeFalse())
			Expect(get(other.URL)).To(Succeed())
			Expect(reached).To(BeTrue())
		})
	})

	It("should tell nothing of a server that somebody else named", func(ctx SpecContext) {
		untrusted := func(o *Options) { o.Untrusted = true }
		client = clientOf(server, untrusted)
		answer = func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message": "secret"}`)
		}
		response, err := get(ctx, object)
		Expect(err).NotTo(HaveOccurred())
		Expect(io.ReadAll(response.Body)).To(BeEmpty())

		const same = "no usable response"
		client = clientOf(server, func(o *Options) { o.Untrusted, o.TLS = true, nil })
		Expect(read(ctx, object)).To(MatchError(HaveSuffix(same)))
		server.Close()
		client = clientOf(server, untrusted)
		Expect(read(ctx, object)).To(MatchError(HaveSuffix(same)))
	})

	DescribeTable("should say in its own words that a server",
		func(ctx SpecContext, answer, text string) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(listener.Close)
			go func() {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				// What comes before the request would be another error.
				_, _ = connection.Read(make([]byte, 1))
				_, _ = io.WriteString(connection, answer)
				_, _ = io.Copy(io.Discard, connection)
			}()
			server.URL = "http://" + listener.Addr().String()
			client = clientOf(server, nil)
			response, err := get(ctx, object)
			if err == nil {
				err = errors.New(response.Status)
			}
			Expect(err).To(MatchError(HaveSuffix(text)))
			Expect(err).NotTo(MatchError(ContainSubstring("foreign")))
		},
		Entry("is none of HTTP", "SSH-2.0-foreign\r\n", "the response is not HTTP"),
		Entry("sends a wrong header", "HTTP/1.1 200 OK\r\nforeign\r\n\r\n", "the response is not HTTP"),
		Entry("says more than a code", "HTTP/1.1 500 foreign words\r\nContent-Length: 0\r\n\r\n", "500 Internal Server Error"),
	)

	It("should count codes that are none as one", func(ctx SpecContext) {
		for _, code := range []int{299, 599, 777} {
			answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
			Expect(read(ctx, object)).To(Succeed())
		}
		Expect(platform.RequestDuration.DeleteLabelValues("limits", "service", "Method", "other")).To(BeTrue())
		Expect(platform.RequestDuration.DeleteLabelValues("limits", "service", "Method", "777")).To(BeFalse())
	})
})
