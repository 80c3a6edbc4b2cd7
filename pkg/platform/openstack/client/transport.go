// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/sha1" // #nosec G505 -- a pinned certificate may be given by its SHA-1 fingerprint
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/time/rate"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	defaultRequestTimeout = time.Minute
	maxConnectionsPerHost = 16
	// maxIdleConnectionsPerHost are kept for the next request: there is a process for each shoot, and all of them share a site.
	maxIdleConnectionsPerHost = 3
	// requestsPerSecond and requestBurst keep one shoot from flooding a site.
	requestsPerSecond = 50
	requestBurst      = 100
)

// transport limits, counts and times the requests to one site.
type transport struct {
	site    string
	next    *http.Transport
	limiter *rate.Limiter
	gate    *gate

	mutex    sync.RWMutex
	services map[string]string
}

func newTransport(siteName string, connection v1alpha1.OpenStackConnection, gate *gate) (*transport, error) {
	tlsConfig, err := tlsConfig(connection.TLS)
	if err != nil {
		return nil, err
	}
	return &transport{
		site: siteName,
		next: &http.Transport{
			Proxy:                 proxy(connection.Proxy),
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       tlsConfig,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxConnsPerHost:       maxConnectionsPerHost,
			MaxIdleConnsPerHost:   maxIdleConnectionsPerHost,
			IdleConnTimeout:       90 * time.Second,
			ResponseHeaderTimeout: requestTimeout(connection),
		},
		limiter:  rate.NewLimiter(requestsPerSecond, requestBurst),
		gate:     gate,
		services: map[string]string{},
	}, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	service := t.service(request.URL)
	if err := t.gate.pass(request.Context(), service); err != nil {
		return nil, err
	}
	if err := t.limiter.Wait(request.Context()); err != nil {
		return nil, err
	}
	start := time.Now()
	response, err := t.next.RoundTrip(request)
	code := "error"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
		t.gate.look(service, response)
	}
	platform.RequestDuration.WithLabelValues(t.site, service, request.Method, code).Observe(time.Since(start).Seconds())
	return response, err
}

// CloseIdleConnections lets http.Client close the idle connections.
func (t *transport) CloseIdleConnections() {
	t.next.CloseIdleConnections()
}

// name makes requests below the endpoint count for the service.
func (t *transport) name(endpoint, service string) {
	if u, err := url.Parse(endpoint); err == nil {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.services[withSlash(u.Host+u.Path)] = service
	}
}

// service finds the service by the longest endpoint that the URL is below.
func (t *transport) service(u *url.URL) string {
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	var (
		longest string
		service = "discovery"
	)
	for endpoint, name := range t.services {
		if len(endpoint) > len(longest) && strings.HasPrefix(withSlash(u.Host+u.Path), endpoint) {
			longest, service = endpoint, name
		}
	}
	return service
}

func withSlash(path string) string {
	return strings.TrimSuffix(path, "/") + "/"
}

func requestTimeout(connection v1alpha1.OpenStackConnection) time.Duration {
	if connection.RequestTimeout == nil || connection.RequestTimeout.Duration <= 0 {
		return defaultRequestTimeout
	}
	return connection.RequestTimeout.Duration
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

func tlsConfig(config *v1alpha1.TLS) (*tls.Config, error) {
	result := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case config == nil:
	case config.CACert != "":
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(config.CACert)) {
			return nil, platform.NewError(platform.ClassConfiguration, "tls.caCert holds no PEM certificate")
		}
		result.RootCAs = pool
	case config.Thumbprint != "":
		// The certificate itself is trusted, not who signed it.
		result.InsecureSkipVerify = true // #nosec G402
		result.VerifyConnection = verifyThumbprint(config.Thumbprint)
	case config.InsecureSkipVerify:
		result.InsecureSkipVerify = true // #nosec G402
	}
	return result, nil
}

func verifyThumbprint(thumbprint string) func(tls.ConnectionState) error {
	want := strings.ToLower(strings.ReplaceAll(thumbprint, ":", ""))
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 {
			raw := state.PeerCertificates[0].Raw
			sum1, sum256 := sha1.Sum(raw), sha256.Sum256(raw) // #nosec G401
			if want == hex.EncodeToString(sum1[:]) || want == hex.EncodeToString(sum256[:]) {
				return nil
			}
		}
		return errThumbprint
	}
}

var errThumbprint = errors.New("the server's certificate does not have the configured thumbprint")
