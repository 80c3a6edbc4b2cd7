// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// maxIdleConnections are kept to an API that cannot share them between requests.
const maxIdleConnections = 8

// roundTripper sends the requests to one API. Watches have connections of their own, so that they never keep calls waiting, and last as
// long as the API lets them.
type roundTripper struct {
	calls   *transport.Transport
	watches *transport.Transport
	timeout time.Duration
	// lists are the contexts of lists that are read page by page by what does not limit them itself, by path.
	lists sync.Map
}

func newRoundTripper(siteName string, server *url.URL, connection Connection, certificates []tls.Certificate,
	describe transport.Describer) (*roundTripper, error) {
	t := &roundTripper{timeout: transport.RequestTimeout(connection.RequestTimeout)}
	options := transport.Options{
		Site:           siteName,
		Server:         server,
		TLS:            connection.TLS,
		Proxy:          connection.Proxy,
		RequestTimeout: t.timeout,
		Certificates:   certificates,
		HTTP2:          true,
		Describe:       describe,

		MaxIdleConnectionsPerHost: maxIdleConnections,
	}
	var err error
	if t.calls, err = transport.New(options); err != nil {
		return nil, err
	}
	options.Unlimited = true
	if t.watches, err = transport.New(options); err != nil {
		return nil, err
	}
	return t, nil
}

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	request = askJSON(request)
	if isWatch(request) {
		return onlyJSON(heldBack(t.watches.RoundTrip(request)))
	}
	ctx, cancel := context.WithTimeout(t.ofList(request), t.timeout)
	response, err := onlyJSON(heldBack(t.calls.RoundTrip(request.WithContext(ctx))))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancelling{ReadCloser: response.Body, cancel: cancel}
	return response, nil
}

// CloseIdleConnections lets http.Client close the idle connections.
func (t *roundTripper) CloseIdleConnections() {
	t.calls.CloseIdleConnections()
	t.watches.CloseIdleConnections()
}

// ofList returns the context for a request. Watches that begin list everything: the API may say without end that there is more.
func (t *roundTripper) ofList(request *http.Request) context.Context {
	switch last, ok := t.lists.Load(request.URL.Path); {
	case transport.IsOneList(request.Context()), request.Method != http.MethodGet:
		return request.Context()
	case !request.URL.Query().Has("continue"):
		t.lists.Delete(request.URL.Path)
		return request.Context()
	case ok:
		ctx := transport.ContinueList(request.Context(), transport.ListState(last.(context.Context)))
		t.lists.Store(request.URL.Path, ctx)
		return ctx
	default:
		ctx := transport.OneList(request.Context())
		t.lists.Store(request.URL.Path, ctx)
		return ctx
	}
}

// askJSON accepts only JSON, because the client would prefer another type for metadata.
func askJSON(request *http.Request) *http.Request {
	request = request.Clone(request.Context())
	accepted := slices.DeleteFunc(strings.Split(request.Header.Get("Accept"), ","), func(mediaType string) bool {
		return !strings.HasPrefix(strings.TrimSpace(mediaType), runtime.ContentTypeJSON)
	})
	request.Header.Set("Accept", strings.Join(accepted, ","))
	return request
}

// onlyJSON prevents the decoding of anything but JSON: the limits of responses are those of JSON, and the client would decode any content
// type that the API returns.
func onlyJSON(response *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	if mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || mediaType != runtime.ContentTypeJSON {
		response.Header.Set("Content-Type", "text/plain")
	}
	return response, nil
}

// heldBack turns a response with Retry-After into an error, because the client would block its caller for that time.
func heldBack(response *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	seconds, ok := retryAfter(response.Header)
	if !ok || response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return response, nil
	}
	response.Body.Close()
	return nil, &platform.Error{
		Class:      platform.ClassTransient,
		RetryAfter: time.Duration(seconds) * time.Second,
		Err:        fmt.Errorf("the API answered %q and asked for %d seconds", response.Status, seconds),
	}
}

func retryAfter(header http.Header) (seconds int, ok bool) {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	return seconds, err == nil
}

// cancelling is the body of an answer. It ends the request when it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

func isWatch(request *http.Request) bool {
	return request.Method == http.MethodGet && request.URL.Query().Get("watch") == "true"
}

// describer returns what tells the service and method that a request to an API below the path counts for: its API group, and its
// verb and resource.
func describer(path string, groups []string) transport.Describer {
	path = strings.TrimSuffix(path, "/")
	return func(request *http.Request) (service, method string) {
		segments := strings.Split(strings.Trim(strings.TrimPrefix(request.URL.Path, path), "/"), "/")
		service = "core"
		if segments[0] == "apis" && len(segments) > 1 {
			service, segments = segments[1], segments[1:]
			if !slices.Contains(groups, service) {
				service = "other"
			}
		}
		if len(segments) < 3 {
			return service, "discover"
		}
		segments = segments[2:]
		if segments[0] == "namespaces" && len(segments) > 2 {
			segments = segments[2:]
		}
		if service == "other" {
			return service, verb(request, len(segments) > 1)
		}
		return service, verb(request, len(segments) > 1) + " " + segments[0]
	}
}

func verb(request *http.Request, named bool) string {
	switch {
	case isWatch(request):
		return "watch"
	case request.Method == http.MethodGet && !named:
		return "list"
	case request.Method == http.MethodPost:
		return "create"
	case request.Method == http.MethodPut:
		return "update"
	default:
		return strings.ToLower(request.Method)
	}
}
