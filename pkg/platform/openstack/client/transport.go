// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// maxIdleConnectionsPerHost are kept for the next request: there is a process for each shoot, and all of them share a site.
const maxIdleConnectionsPerHost = 3

// transport tells the services of a site apart and leaves one alone that asks for time.
type transport struct {
	next *sharedtransport.Transport
	gate *gate

	mutex    sync.RWMutex
	services map[string]string
}

func newTransport(siteName string, connection v1alpha1.OpenStackConnection, gate *gate) (*transport, error) {
	t := &transport{gate: gate, services: map[string]string{}}
	var err error
	t.next, err = sharedtransport.New(sharedtransport.Options{
		Site:                      siteName,
		TLS:                       connection.TLS,
		Proxy:                     connection.Proxy,
		RequestTimeout:            sharedtransport.RequestTimeout(connection.RequestTimeout),
		MaxIdleConnectionsPerHost: maxIdleConnectionsPerHost,
		Describe:                  func(request *http.Request) (string, string) { return t.service(request.URL), request.Method },
	})
	return t, err
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	service := t.service(request.URL)
	if err := t.gate.pass(request.Context(), service); err != nil {
		return nil, err
	}
	response, err := t.next.RoundTrip(request)
	if err == nil {
		t.gate.look(service, response)
	}
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
