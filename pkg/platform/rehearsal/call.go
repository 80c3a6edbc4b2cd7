// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Site is the rehearsal at a site. It is locked while a request is answered, except while the site answers.
type Site struct {
	sync.Mutex
	// Name is the name of the site.
	Name string
	// Log has the writes.
	Log *Log
}

// NewID returns an ID for an object of the kind that does not exist.
func (s *Site) NewID(kind string) string {
	return s.Log.NewID(s.Name, kind)
}

// Record adds a write at the site.
func (s *Site) Record(w Write) error {
	w.Site = s.Name
	return s.Log.Add(w)
}

// Ask calls f, which sends a request to the site, without the lock.
func (s *Site) Ask(f func() error) error {
	s.Unlock()
	defer s.Lock()
	return f()
}

// RoundTripper answers requests with the function. Calls use next to ask the site.
func (s *Site) RoundTripper(next http.RoundTripper, answer func(*Call) (*http.Response, error)) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		call := &Call{Request: request, site: s, next: next}
		if err := call.read(); err != nil {
			return nil, err
		}
		s.Lock()
		defer s.Unlock()
		response, err := answer(call)
		if other := (otherResponse{}); errors.As(err, &other) {
			return other.Response, nil
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return r(request)
}

// otherResponse is a response that lacks what was asked for.
type otherResponse struct{ *http.Response }

// Error implements error.
func (r otherResponse) Error() string {
	return r.Status
}

// Call is a request to an HTTP API.
type Call struct {
	*http.Request
	// Content is the body.
	Content []byte
	site    *Site
	next    http.RoundTripper
}

// read reads the body of the request, which is small.
func (c *Call) read() error {
	if c.Body == nil {
		return nil
	}
	var err error
	c.Content, err = io.ReadAll(c.Body)
	if err := errors.Join(err, c.Body.Close()); err != nil {
		return err
	}
	c.Request = c.Clone(c.Context())
	c.Body = io.NopCloser(bytes.NewReader(c.Content))
	return nil
}

// Field returns the field of the body of the request. All its fields must be of the type.
func Field[T any](c *Call, name string) (field T, err error) {
	var fields map[string]T
	if err := json.Unmarshal(c.Content, &fields); err != nil {
		return field, platform.NewError(platform.ClassConfiguration, "a request of the plan cannot be decoded: %w", err)
	}
	return fields[name], nil
}

// Pass sends the request to the site, and returns its response.
func (c *Call) Pass() (*http.Response, error) {
	c.site.Unlock()
	defer c.site.Lock()
	return c.next.RoundTrip(c.Request)
}

// Ask sends a request to the site and decodes the response. If that is not a success, it is the response to the call.
func (c *Call) Ask(request *http.Request, into any) error {
	c.site.Unlock()
	defer c.site.Lock()
	response, err := c.next.RoundTrip(request)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return otherResponse{response}
	}
	err = json.NewDecoder(response.Body).Decode(into)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return platform.NewError(platform.ClassTransient, "a response cannot be decoded: %w", platform.Foreign(err))
	}
	return nil
}

// Respond returns the response to a request that was not sent. The content may be nil.
func (c *Call) Respond(status int, content any) (*http.Response, error) {
	response := &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody, Request: c.Request,
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

// Fail returns an error for which the call has another response.
func (c *Call) Fail(status int, content any) error {
	response, err := c.Respond(status, content)
	return cmp.Or[error](err, otherResponse{response})
}

// Record adds the write.
func (c *Call) Record(service string, w Write) error {
	w.Service, w.Method, w.Path = service, c.Method, cmp.Or(w.Path, c.URL.Path)
	return c.site.Record(w)
}

// Refuse returns the error for a request that may change the site in an unknown way.
func (c *Call) Refuse(service string) error {
	return Refuse(service, c.Method, c.URL.Path)
}
