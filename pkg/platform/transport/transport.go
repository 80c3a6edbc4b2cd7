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
	// Describe returns the service and the method that a request counts for.
	Describe func(*http.Request) (service, method string)
}

// Transport limits, counts and times the requests to one site.
type Transport struct {
	options Options
	next    *http.Transport
	limiter *rate.Limiter
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
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       tlsConfig,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxConnsPerHost:       MaxConnectionsPerHost,
			MaxIdleConnsPerHost:   options.MaxIdleConnectionsPerHost,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: options.RequestTimeout,
			ForceAttemptHTTP2:     options.HTTP2,
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		},
		limiter: rate.NewLimiter(requestsPerSecond, requestBurst),
	}
	if options.Unlimited {
		t.next.MaxConnsPerHost = 0
	}
	return t, nil
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := t.limiter.Wait(request.Context()); err != nil {
		return nil, err
	}
	start := time.Now()
	response, err := t.next.RoundTrip(request)
	code := "error"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	service, method := t.options.Describe(request)
	platform.RequestDuration.WithLabelValues(t.options.Site, service, method, code).Observe(time.Since(start).Seconds())
	return response, err
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
