// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// maxIdleConnectionsPerHost is small because every shoot has a process of its own and all of them share a site.
const maxIdleConnectionsPerHost = 3

// transport tells the services of a site apart and delays requests to a service that asked clients to back off.
type transport struct {
	next *sharedtransport.Transport
	gate *gate

	mutex    sync.RWMutex
	services map[string]string
}

func newTransport(siteName string, connection endpoint, gate *gate) (*transport, error) {
	t := &transport{gate: gate, services: map[string]string{}}
	address, err := url.Parse(connection.AuthURL)
	if err != nil || address.Host == "" {
		return nil, platform.NewError(platform.ClassConfiguration, "authURL: must be a URL with a host, got %q", connection.AuthURL)
	}
	t.next, err = sharedtransport.New(sharedtransport.Options{
		Site:                      siteName,
		Server:                    address,
		TLS:                       connection.TLS,
		Proxy:                     connection.Proxy,
		Guard:                     connection.Guard,
		Untrusted:                 connection.Guard != nil,
		RequestTimeout:            sharedtransport.RequestTimeout(connection.RequestTimeout),
		MaxIdleConnectionsPerHost: maxIdleConnectionsPerHost,
		Describe:                  t.describe,
	})
	return t, err
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	service := t.service(request.URL)
	if err := t.gate.wait(request.Context(), service); err != nil {
		return nil, err
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	t.gate.observe(service, response)
	if err := checkNotFound(service, response); err != nil {
		return nil, err
	}
	if err := checkFound(service, response); err != nil {
		return nil, err
	}
	if err := shorten(response); err != nil {
		return nil, err
	}
	return response, nil
}

// shorten reduces the body of a failed response to the parts that may be shown, and removes the body of a response to a deletion: libraries
// include the whole body in messages and logs.
func shorten(response *http.Response) error {
	failed := response.StatusCode >= http.StatusBadRequest
	if !failed && response.Request.Method != http.MethodDelete {
		return nil
	}
	said, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil && failed {
		return err
	}
	response.Body = http.NoBody
	if f := parseFault(said); failed && f != (fault{}) {
		short, err := json.Marshal(map[string]fault{"error": {Type: platform.Printable(f.Type), Message: platform.Printable(f.Message)}})
		if err != nil {
			return err
		}
		response.Body = io.NopCloser(bytes.NewReader(short))
	}
	return nil
}

// checkFound returns an error if the response to a read or creation is empty: a missing body would be mistaken for an empty list, and thus
// for objects that do not exist. Responses to actions may be empty; a response without any content fails to decode.
func checkFound(service string, response *http.Response) error {
	creates := response.Request.Method == http.MethodPost && response.StatusCode <= http.StatusAccepted &&
		!strings.HasSuffix(response.Request.URL.Path, "/action")
	if !creates && (response.Request.Method != http.MethodGet || response.StatusCode != http.StatusOK) {
		return nil
	}
	beginning := beginningOfObject
	if service == objectStore && !creates {
		beginning = beginningOfList
	}
	body := bufio.NewReader(response.Body)
	for _, want := range []byte(beginning) {
		got, err := body.ReadByte()
		for err == nil && unicode.IsSpace(rune(got)) {
			got, err = body.ReadByte()
		}
		if errors.Is(err, io.EOF) && creates {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			response.Body.Close()
			return err
		}
		if got != want {
			response.Body.Close()
			return platform.NewError(platform.ClassTransient, "the %s API returned an empty response", service)
		}
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(beginning), body), response.Body}
	return nil
}

const (
	// beginningOfObject is the start of a JSON object with at least one field.
	beginningOfObject = `{"`
	// beginningOfList is the start of a JSON array, which the object storage API alone returns.
	beginningOfList = `[`
)

// checkNotFound is the only place that decides whether a 404 or 410 is OpenStack's. A proxy without a backend responds with 404, too, which
// does not mean that the object is gone. OpenStack's services set the request ID or an error type; any other 404 becomes an error of
// ClassTransient.
func checkNotFound(service string, response *http.Response) error {
	if response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusGone || response.Header.Get(requestIDHeader) != "" {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	var known struct {
		Nova    json.RawMessage `json:"itemNotFound"`
		Neutron json.RawMessage `json:"NeutronError"`
		// Keystone is the format of many other servers, too.
		Keystone json.RawMessage `json:"error"`
		// Designate is the error type.
		Designate string `json:"type"`
	}
	_ = json.Unmarshal(body, &known)
	if known.Nova == nil && known.Neutron == nil && known.Designate == "" && (known.Keystone == nil || service != "identity") {
		return platform.NewError(platform.ClassTransient, "%d %s is not a response of the %s API", response.StatusCode,
			http.StatusText(response.StatusCode), service)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// CloseIdleConnections lets http.Client close idle connections.
func (t *transport) CloseIdleConnections() {
	t.next.CloseIdleConnections()
}

// allow permits requests to the services of the catalog, regardless of their host.
func (t *transport) allow(auth gophercloud.AuthResult) error {
	result, ok := auth.(tokens.CreateResult)
	if !ok {
		return platform.NewError(platform.ClassTransient, "the token has no service catalog")
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return err
	}
	for _, entry := range catalog.Entries {
		for _, endpoint := range entry.Endpoints {
			if u, err := url.Parse(endpoint.URL); err == nil {
				t.next.Allow(u)
			}
		}
	}
	return nil
}

// name attributes requests below the endpoint to the service.
func (t *transport) name(endpoint, service string) {
	if u, err := url.Parse(endpoint); err == nil {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.services[withSlash(u.Host+u.Path)] = service
	}
}

func (t *transport) describe(request *http.Request) (service, method string) {
	return t.service(request.URL), request.Method
}

// service returns the service with the longest endpoint that is a prefix of the URL.
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
