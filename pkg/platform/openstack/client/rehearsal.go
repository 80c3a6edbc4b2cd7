// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// rehearsing sends only requests that change nothing. Others are recorded, and answered as if the site had accepted them: later reads see
// their effect. Values that the site chooses, such as addresses, are missing in answers.
type rehearsing struct {
	next    http.RoundTripper
	site    string
	log     *rehearsal.Log
	service func(*url.URL) string
	overlay overlay
}

// RoundTrip implements http.RoundTripper.
func (r *rehearsing) RoundTrip(request *http.Request) (*http.Response, error) {
	var (
		service = r.service(request.URL)
		t       = targetOf(service, request.URL.Path)
		isRead  = request.Method == http.MethodGet || request.Method == http.MethodHead
	)
	switch {
	case service == "identity" && request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/auth/tokens"),
		isRead && t.kind == nil:
		return r.next.RoundTrip(request)
	case isRead && t.id == "":
		return r.list(request, t)
	case isRead:
		return r.get(request, t)
	}
	body, err := bodyOf(request)
	if err != nil {
		return nil, err
	}
	w := &write{rehearsing: r, request: request, target: t, body: body, record: rehearsal.Write{
		PlannedRequest: v1alpha1.PlannedRequest{Service: service, Method: request.Method, Path: request.URL.Path},
		Site:           r.site,
	}}
	return w.perform()
}

// bodyOf reads the body of a request, which is small.
func bodyOf(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(request.Body)
	return body, errors.Join(err, request.Body.Close())
}

// respond returns the response to a request that was not sent. The content may be nil.
func respond(request *http.Request, status int, content any) (*http.Response, error) {
	response := &http.Response{
		StatusCode: status,
		Status:     http.StatusText(status),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    http.NoBody,
		Request: request,
	}
	if content == nil {
		return response, nil
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// notFound is the answer about an object that does not exist.
func notFound(request *http.Request) (*http.Response, error) {
	return respond(request, http.StatusNotFound,
		map[string]fault{"NeutronError": {Type: "NotFound", Message: request.URL.Path + " does not exist after the requests of the plan"}})
}

// get answers a read of one object, or of something that belongs to it.
func (r *rehearsing) get(request *http.Request, t target) (*http.Response, error) {
	switch created, gone := r.overlay.find(t.kind, t.id); {
	case gone, created != nil && t.action != "":
		return notFound(request)
	case created != nil:
		return respond(request, http.StatusOK, map[string]resource{t.kind.singular: created})
	}
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || t.action != "" {
		return response, err
	}
	var content map[string]resource
	if err := decodeBody(response, &content); err != nil {
		return nil, err
	}
	if object := content[t.kind.singular]; object != nil {
		r.overlay.see(t.kind, object)
		content[t.kind.singular] = r.overlay.view(t.kind, object)
	}
	return respond(request, http.StatusOK, content)
}

// decodeBody decodes and closes the body of a response.
func decodeBody[T any](response *http.Response, content *T) error {
	err := json.NewDecoder(response.Body).Decode(content)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return platform.NewError(platform.ClassTransient, "a response cannot be decoded: %w", platform.Foreign(err))
	}
	return nil
}

// list answers a list. Objects that do not exist yet are on its first page. A page whose objects are all deleted is skipped, because an
// empty page ends a list.
func (r *rehearsing) list(request *http.Request, t target) (*http.Response, error) {
	var (
		query = request.URL.Query()
		found = []resource{}
		links json.RawMessage
	)
	if !query.Has("marker") && (query.Get("offset") == "" || query.Get("offset") == "0") {
		created, err := r.overlay.matching(t.kind, query)
		if err != nil {
			return nil, err
		}
		found = append(found, created...)
	}
	for next := withoutMadeUp(request); next != nil; {
		response, err := r.next.RoundTrip(next)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		var content map[string]json.RawMessage
		if err := decodeBody(response, &content); err != nil {
			return nil, err
		}
		listed, err := t.kind.unwrap(content[t.kind.plural])
		if err != nil {
			return nil, err
		}
		for _, object := range listed {
			r.overlay.see(t.kind, object)
			if !r.overlay.isDeleted(t.kind, t.kind.idOf(object)) {
				found = append(found, r.overlay.view(t.kind, object))
			}
		}
		links = content[t.kind.plural+"_links"]
		if len(found) > 0 || len(listed) == 0 {
			break
		}
		if next, err = nextPage(next, links); err != nil {
			return nil, err
		}
	}
	objects, err := t.kind.wrap(found)
	if err != nil {
		return nil, err
	}
	content := map[string]json.RawMessage{t.kind.plural: objects}
	if links != nil {
		content[t.kind.plural+"_links"] = links
	}
	return respond(request, http.StatusOK, content)
}

// withoutMadeUp returns the request without the IDs in its query that no site knows. It returns nil if nothing at the site matches the
// query.
func withoutMadeUp(request *http.Request) *http.Request {
	query := request.URL.Query()
	for key, values := range query {
		known := slices.DeleteFunc(slices.Clone(values), func(value string) bool {
			return rehearsal.IsMadeUp(strings.TrimPrefix(value, fixedIPSubnet))
		})
		if len(known) == 0 || len(known) < len(values) && key == fixedIPs {
			return nil
		}
		query[key] = known
	}
	return at(request, func(u *url.URL) { u.RawQuery = query.Encode() })
}

// at returns a GET request like the given one, at another address.
func at(request *http.Request, change func(*url.URL)) *http.Request {
	result := request.Clone(request.Context())
	result.Method, result.Body, result.ContentLength = http.MethodGet, nil, 0
	result.Header.Del("Content-Type")
	change(result.URL)
	return result
}

// nextPage returns the request for the next page of a list, nil if there is none.
func nextPage(request *http.Request, raw json.RawMessage) (*http.Request, error) {
	if raw == nil {
		return nil, nil
	}
	var links []struct{ Rel, Href string }
	err := json.Unmarshal(raw, &links)
	for _, link := range links {
		if err == nil && link.Rel == "next" {
			var address *url.URL
			if address, err = url.Parse(link.Href); err == nil {
				return at(request, func(u *url.URL) { *u = *address }), nil
			}
		}
	}
	if err != nil {
		err = platform.NewError(platform.ClassTransient, "the link to the next page is invalid: %w", platform.Foreign(err))
	}
	return nil, err
}
