// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package transport limits, counts and times the HTTP requests to one site, and decides whom to trust.
package transport

import (
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
	// requestsPerSecond and requestBurst keep one shoot from flooding a site. A machine takes about six requests, and
	// machine-controller-manager works on 50 machines at the same time: the site shall be what they wait for.
	requestsPerSecond = 100
	requestBurst      = 200
	// pingAfter is for how long a shared connection may be silent, and pingTimeout how long it then has to show that it lives.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// Options say how a site is reached.
type Options struct {
	// Site is the name of the site.
	Site string
	// Server is the configured address. Requests go to its host alone, and to those that Allow adds.
	Server *url.URL
	// Untrusted says that somebody else than the operator named the server. Nothing is told of what it answers.
	Untrusted bool
	// TLS says how the site is trusted; nil for the certificate authorities of the system.
	TLS *v1alpha1.TLS
	// Proxy is the HTTP proxy, nil if there is none.
	Proxy *v1alpha1.Proxy
	// RequestTimeout is how long the answer to a request may take to begin.
	RequestTimeout time.Duration
	// MaxIdleConnectionsPerHost are kept for the next request to a service of the site.
	MaxIdleConnectionsPerHost int
	// Certificates are shown to the site if it asks for one.
	Certificates []tls.Certificate
	// HTTP2 has requests share connections if the site can do that, and such connections tested that are silent.
	HTTP2 bool
	// Unlimited is for requests whose answers do not end, such as watches: each may need a connection for itself.
	Unlimited bool
	// Guard opens the connections to a host that a tenant named; nil for hosts that the operator named. There is no proxy then.
	Guard *Guard
	// Describe returns the service and the method that a request counts for.
	Describe func(*http.Request) (service, method string)
}

// Transport limits, counts and times the requests to one site.
type Transport struct {
	options Options
	next    *http.Transport
	limiter *rate.Limiter

	mutex   sync.RWMutex
	origins map[string]bool
}

// New returns a transport. The error's class is ClassConfiguration.
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

// NewClient returns the client of requests that a Transport sends in the end. An answer takes no longer than the timeout.
func NewClient(roundTripper http.RoundTripper, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport:     roundTripper,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Allow lets requests go to a further address that the site names.
func (t *Transport) Allow(address *url.URL) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.origins[origin(address)] = true
}

// check refuses addresses that are not the site's: a token must not get to anybody to whom an answer leads, and to nobody without
// encryption if the configured address has it.
func (t *Transport) check(address *url.URL) error {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	switch {
	case t.options.Server.Scheme == "https" && address.Scheme != "https":
		return platform.NewError(platform.ClassConfiguration, "%s names the address %q, but only https is used, as for the configured address",
			t.options.Server.Host, t.shown(origin(address)))
	case !t.origins[origin(address)]:
		return platform.NewError(platform.ClassConfiguration, "%s names the address %q, which is none of the site", t.options.Server.Host,
			t.shown(origin(address)))
	}
	return nil
}

// shown is what is told of what the server says.
func (t *Transport) shown(text string) string {
	if t.options.Untrusted {
		return "-"
	}
	return platform.Printable(text)
}

func origin(address *url.URL) string {
	port := address.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[address.Scheme]
	}
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
	service, method := t.options.Describe(request)
	platform.RequestDuration.WithLabelValues(t.options.Site, service, method, code).Observe(time.Since(start).Seconds())
	if err != nil {
		return nil, t.explain(err)
	}
	response.Status = strings.TrimSpace(strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode))
	if redirects(response.StatusCode) {
		response.Body.Close()
		return nil, platform.NewError(platform.ClassTransient, "%s redirects to another address (%d), which is not followed",
			request.URL.Host, response.StatusCode)
	}
	if t.options.Untrusted && response.StatusCode >= http.StatusBadRequest {
		response.Body.Close()
		response.Body = http.NoBody
	}
	limit(request, response, t.options.Unlimited)
	return response, nil
}

// codeOf is the label for a code of HTTP. A site may answer codes that are none.
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

// CloseIdleConnections lets http.Client close the idle connections.
func (t *Transport) CloseIdleConnections() {
	t.next.CloseIdleConnections()
}

// RequestTimeout returns the configured timeout or, if there is none, the default.
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
