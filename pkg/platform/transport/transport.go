// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package transport limits, counts and times the HTTP requests to one site, and decides which servers are trusted.
package transport

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	defaultRequestTimeout = time.Minute
	// MaxConnectionsPerHost limits the connections to each service of a site.
	MaxConnectionsPerHost = 16
	// requestsPerSecond and requestBurst keep one shoot from flooding a site. A machine takes about six requests and
	// machine-controller-manager handles 50 machines concurrently: the site should be the bottleneck, not this limit.
	requestsPerSecond = 100
	requestBurst      = 200
	// pingAfter is how long a shared connection may be idle before it is checked, and pingTimeout how long the check may take.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// Describer returns the service and the method of a request, the labels api and method of its metrics.
type Describer func(*http.Request) (service, method string)

// Wrap returns what sends the requests of a session instead of next, which sends them to the site.
type Wrap func(site string, describe Describer, next http.RoundTripper) http.RoundTripper

// Options configure the transport to a site.
type Options struct {
	// Site is the name of the site.
	Site string
	// Server is the configured address. Requests are sent only to its host and to those added with Allow.
	Server *url.URL
	// Untrusted means that the server was not configured by the operator. Nothing of its responses is shown.
	Untrusted bool
	// TLS configures how the server's certificate is verified; nil uses the system's certificate authorities.
	TLS *v1alpha1.TLS
	// Proxy is the HTTP proxy, or nil.
	Proxy *v1alpha1.Proxy
	// RequestTimeout limits the time until the response headers arrive.
	RequestTimeout time.Duration
	// MaxIdleConnectionsPerHost is the number of idle connections that are kept per service of the site.
	MaxIdleConnectionsPerHost int
	// Certificates are the client certificates.
	Certificates []tls.Certificate
	// HTTP2 enables HTTP/2 if the site supports it, with health checks for idle connections.
	HTTP2 bool
	// Unlimited is for requests with endless responses, such as watches: each may need its own connection.
	Unlimited bool
	// XML means that all responses are XML, and not only those to requests in XML.
	XML bool
	// Guard opens connections to hosts that were configured by a tenant; nil for hosts configured by the operator. With a Guard no proxy is
	// used.
	Guard *Guard
	// Describe returns the service and the method of a request.
	Describe Describer
}

// Transport limits, counts and times the requests to one site.
type Transport struct {
	options Options
	next    *http.Transport
	limiter *rate.Limiter

	mutex   sync.RWMutex
	origins map[string]bool
}

// New returns a transport. Errors are of ClassConfiguration.
func New(options Options) (*Transport, error) {
	tlsConfig, err := tlsConfig(options.TLS)
	if err != nil {
		return nil, err
	}
	tlsConfig.Certificates = options.Certificates
	t := &Transport{
		options: options,
		next: &http.Transport{
			Proxy:                 proxy(options.Proxy),
			DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext,
			TLSClientConfig:       tlsConfig,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxConnsPerHost:       MaxConnectionsPerHost,
			MaxIdleConnsPerHost:   options.MaxIdleConnectionsPerHost,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: options.RequestTimeout,

			MaxResponseHeaderBytes: maxHeader,

			ForceAttemptHTTP2: options.HTTP2,
			HTTP2:             &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		},
		limiter: rate.NewLimiter(requestsPerSecond, requestBurst),
		origins: map[string]bool{origin(options.Server): true},
	}
	if options.Unlimited {
		t.next.MaxConnsPerHost = 0
	}
	if options.Guard != nil {
		t.next.Proxy, t.next.DialContext = nil, options.Guard.DialContext
	}
	return t, nil
}

// NewClient returns a client that sends its requests with the round tripper, which should end in a Transport. The timeout covers the whole
// response.
func NewClient(roundTripper http.RoundTripper, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport:     roundTripper,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Allow permits requests to another address that the site announces.
func (t *Transport) Allow(address *url.URL) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.origins[origin(address)] = true
}

// check rejects addresses that do not belong to the site: a token must not be sent to a host that a response points to, nor without
// encryption if the configured address uses it.
func (t *Transport) check(address *url.URL) error {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	switch {
	case t.options.Server.Scheme == "https" && address.Scheme != "https":
		return platform.NewError(platform.ClassConfiguration, "%s refers to address %q, but requests must use https like the configured address",
			t.options.Server.Host, t.shown(origin(address)))
	case !t.origins[origin(address)]:
		return platform.NewError(platform.ClassConfiguration, "%s refers to address %q, which does not belong to the site", t.options.Server.Host,
			t.shown(origin(address)))
	}
	return nil
}

// shown returns the part of the server's text that may be shown.
func (t *Transport) shown(text string) string {
	if t.options.Untrusted {
		return "-"
	}
	return platform.Printable(text)
}

func origin(address *url.URL) string {
	port := cmp.Or(address.Port(), map[string]string{"http": "80", "https": "443"}[address.Scheme])
	return strings.ToLower(address.Scheme + "://" + net.JoinHostPort(address.Hostname(), port))
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := t.check(request.URL); err != nil {
		return nil, err
	}
	if guard := t.options.Guard; guard != nil {
		var err error
		if request, err = guard.admit(request); err != nil {
			return nil, err
		}
	}
	if l, ok := request.Context().Value(listKey{}).(*list); ok {
		if err := l.page(); err != nil {
			return nil, err
		}
	}
	response, err := t.send(request)
	if err != nil {
		return nil, err
	}
	response.Status = strings.TrimSpace(strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode))
	if redirects(response.StatusCode) {
		response.Body.Close()
		return nil, platform.NewError(platform.ClassTransient, "%s redirects to another address (%d); redirects are not followed",
			request.URL.Host, response.StatusCode)
	}
	if t.options.Untrusted && response.StatusCode >= http.StatusBadRequest {
		response.Body.Close()
		response.Body = http.NoBody
	}
	limit(request, response, t.options.Unlimited, t.options.XML)
	return response, nil
}

// send sends the request when the limits permit it, and counts and times it.
func (t *Transport) send(request *http.Request) (*http.Response, error) {
	if err := t.limiter.Wait(request.Context()); err != nil {
		return nil, err
	}
	start := time.Now()
	response, err := t.next.RoundTrip(request)
	code := "error"
	if err == nil {
		platform.Answered(t.options.Site)
		code = codeOf(response.StatusCode)
	}
	took := time.Since(start)
	service, method := t.options.Describe(request)
	platform.RequestDuration.WithLabelValues(t.options.Site, service, method, code).Observe(took.Seconds())
	if isLogged(t.options.Site) {
		t.log(request, response, service, code, took)
	}
	if err != nil {
		return nil, t.explain(err)
	}
	return response, nil
}

// codeOf is the metric label for a status code. A site may return invalid codes.
func codeOf(code int) string {
	if http.StatusText(code) == "" {
		return "other"
	}
	return strconv.Itoa(code)
}

func redirects(code int) bool {
	switch code {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// CloseIdleConnections lets http.Client close idle connections.
func (t *Transport) CloseIdleConnections() {
	t.next.CloseIdleConnections()
}

// RequestTimeout returns the configured timeout, or the default if none is configured.
func RequestTimeout(configured *metav1.Duration) time.Duration {
	if configured == nil || configured.Duration <= 0 {
		return defaultRequestTimeout
	}
	return configured.Duration
}

func proxy(config *v1alpha1.Proxy) func(*http.Request) (*url.URL, error) {
	if config == nil {
		return nil
	}
	choose := (&httpproxy.Config{
		HTTPProxy:  config.URL,
		HTTPSProxy: config.URL,
		NoProxy:    strings.Join(config.NoProxy, ","),
	}).ProxyFunc()
	return func(request *http.Request) (*url.URL, error) { return choose(request.URL) }
}
