// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
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
	login   platform.Shared[any]
}

// RoundTrip implements http.RoundTripper. It buffers the body of the request, so that it can be sent twice.
func (r *restAuth) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasPrefix(request.URL.Path, restSessionPath) {
		return r.next.RoundTrip(request)
	}
	if r.session.closed.Load() {
		return nil, errClosed
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
		return valued(request, response, err)
	}
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	if err := r.renew(request.Context(), id); err != nil {
		return nil, err
	}
	response, _, err = r.send(request, body)
	return valued(request, response, err)
}

// valued rejects an answer that lacks the required value, which would be decoded as an empty one.
func valued(request *http.Request, response *http.Response, err error) (*http.Response, error) {
	action := request.URL.Query().Get("~action")
	if err != nil || response.StatusCode != http.StatusOK ||
		request.Method != http.MethodGet && !strings.HasPrefix(action, "list-") && !strings.HasPrefix(action, "attach-multiple-") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err == nil && answer["value"] == nil {
		return nil, platform.NewError(platform.ClassTransient, "the answer to %s %s is empty", request.Method, request.URL.Path)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// send sends the request with the current session and returns the ID of that.
func (r *restAuth) send(request *http.Request, body []byte) (*http.Response, string, error) {
	id := r.client.SessionID()
	request = request.Clone(request.Context())
	request.Header.Set(restSessionHeader, id)
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	response, err := r.next.RoundTrip(request)
	return response, id, err
}

// renew logs in, unless the session with the given ID was replaced already. Concurrent calls share the result.
func (r *restAuth) renew(ctx context.Context, lost string) error {
	_, err := r.login.Do(ctx, "rest", func(ctx context.Context) (any, error) {
		if r.client.SessionID() != lost {
			return nil, nil
		}
		if err := r.session.mayLogIn(); err != nil {
			return nil, err
		}
		return nil, r.session.refused.remember(Classify(r.client.Login(ctx, r.session.user)))
	})
	return err
}

// keepAlive is a no-op if there was no login.
func (r *restAuth) keepAlive(ctx context.Context) error {
	if r.client.SessionID() == "" {
		return nil
	}
	_, err := r.client.Session(ctx)
	return Classify(err)
}

// logout is a no-op if there was no login.
func (r *restAuth) logout(ctx context.Context) error {
	if r.client.SessionID() == "" {
		return nil
	}
	return Classify(r.client.Logout(ctx))
}
