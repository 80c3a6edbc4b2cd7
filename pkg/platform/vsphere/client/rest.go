// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/vmware/govmomi/vapi/rest"
	"golang.org/x/sync/singleflight"
)

const (
	restSessionPath   = "/rest/com/vmware/cis/session"
	restSessionHeader = "vmware-api-session-id"
)

// restAuth logs in at the REST API before the first request, and again if the vCenter ended the session.
type restAuth struct {
	next    http.RoundTripper
	session *Session
	client  *rest.Client
	login   singleflight.Group
	used    atomic.Bool
}

// RoundTrip implements http.RoundTripper. The body of the request is read at once, so that it can be sent twice.
func (r *restAuth) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasPrefix(request.URL.Path, restSessionPath) {
		return r.next.RoundTrip(request)
	}
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
	}

	id := r.client.SessionID()
	if id == "" {
		if err := r.renew(request.Context(), id); err != nil {
			return nil, err
		}
	}
	response, id, err := r.send(request, body)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	if err := r.renew(request.Context(), id); err != nil {
		return nil, err
	}
	response, _, err = r.send(request, body)
	return response, err
}

// send sends the request with the current session and returns its ID.
func (r *restAuth) send(request *http.Request, body []byte) (*http.Response, string, error) {
	id := r.client.SessionID()
	request = request.Clone(request.Context())
	request.Header.Set(restSessionHeader, id)
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	response, err := r.next.RoundTrip(request)
	return response, id, err
}

// renew logs in unless somebody did since the session with the given ID was used. Calls that come meanwhile share the result.
func (r *restAuth) renew(ctx context.Context, lost string) error {
	results := r.login.DoChan("rest", func() (any, error) {
		if r.client.SessionID() != lost {
			return nil, nil
		}
		if err := r.session.refused.last(); err != nil {
			return nil, err
		}
		r.used.Store(true)
		return nil, r.session.refused.remember(Classify(r.client.Login(context.WithoutCancel(ctx), r.session.user)))
	})
	select {
	case result := <-results:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keepAlive does nothing if there was no login.
func (r *restAuth) keepAlive(ctx context.Context) error {
	if !r.used.Load() {
		return nil
	}
	_, err := r.client.Session(ctx)
	return Classify(err)
}

// logout does nothing if there was no login.
func (r *restAuth) logout(ctx context.Context) error {
	if !r.used.Load() {
		return nil
	}
	return Classify(r.client.Logout(ctx))
}
