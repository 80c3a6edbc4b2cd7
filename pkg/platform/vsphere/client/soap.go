// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// refusedFor is for how long credentials are not tried again that the vCenter refused. Its default policy locks an account for
// minutes after five refused logins within three.
const refusedFor = time.Minute

// locale is the language of the vCenter's messages.
const locale = "en_US"

// refusal remembers the last login that was refused.
type refusal struct {
	mutex sync.Mutex
	err   error
	at    time.Time
}

// last returns the error of a login that was refused a moment ago.
func (r *refusal) last() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.err != nil && time.Since(r.at) < refusedFor {
		return r.err
	}
	return nil
}

// remember notes err if it says that the credentials were refused, and returns it.
func (r *refusal) remember(err error) error {
	if err != nil && platform.ClassOf(err) == platform.ClassUnauthenticated {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.err, r.at = err, time.Now()
	}
	return err
}

// methodKey is the key of the SOAP method in the context of its HTTP request.
type methodKey struct{}

// named tells the transport which SOAP method a request is for.
type named struct {
	next soap.RoundTripper
}

// RoundTrip implements soap.RoundTripper.
func (n named) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	method := strings.TrimSuffix(reflect.TypeOf(request).Elem().Name(), "Body")
	return n.next.RoundTrip(context.WithValue(ctx, methodKey{}, method), request, response)
}

// describe returns the service and method that a request counts for.
func describe(request *http.Request) (service, method string) {
	method, ok := request.Context().Value(methodKey{}).(string)
	if !ok {
		method = request.Method
	}
	switch path := request.URL.Path; {
	case strings.HasPrefix(path, "/rest"), strings.HasPrefix(path, "/api"):
		return "vapi", method
	case strings.HasPrefix(path, "/pbm"):
		return "pbm", method
	default:
		return "vim25", method
	}
}

// authenticated repeats a request that failed because the vCenter ended the session, after a new login.
type authenticated struct {
	session *Session
	next    soap.RoundTripper
}

// RoundTrip implements soap.RoundTripper.
func (a *authenticated) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	logins := a.session.logins.Load()
	err := a.roundTrip(ctx, request, response)
	if !fault.Is(err, &types.NotAuthenticated{}) {
		return err
	}
	if err := a.session.renew(ctx, logins); err != nil {
		return err
	}
	reflect.ValueOf(response).Elem().SetZero()
	return a.roundTrip(ctx, request, response)
}

// roundTrip returns the fault that a vCenter hides when properties are read: to one who has no session it answers that there is the
// object, and of each property that it is missing.
func (a *authenticated) roundTrip(ctx context.Context, request, response soap.HasFault) error {
	if err := a.next.RoundTrip(ctx, request, response); err != nil {
		return err
	}
	body, ok := response.(*methods.RetrievePropertiesExBody)
	if !ok || body.Res == nil || body.Res.Returnval == nil {
		return nil
	}
	for _, object := range body.Res.Returnval.Objects {
		for _, missing := range object.MissingSet {
			if notAuthenticated, ok := missing.Fault.Fault.(*types.NotAuthenticated); ok {
				return soap.WrapVimFault(notAuthenticated)
			}
		}
	}
	return nil
}

// renew logs in again, unless somebody did since the given number of logins was seen. Calls that come meanwhile share the result.
func (s *Session) renew(ctx context.Context, seen int64) error {
	results := s.login.DoChan("soap", func() (any, error) {
		if s.logins.Load() != seen {
			return nil, nil
		}
		if err := s.refused.last(); err != nil {
			return nil, err
		}
		// A call that gives up does not end the login that others wait for; the request timeout does.
		s.forgetCookie()
		password, _ := s.user.Password()
		response, err := methods.Login(context.WithoutCancel(ctx), named{s.vim.Client}, &types.Login{
			This:     *s.vim.ServiceContent.SessionManager,
			UserName: s.user.Username(),
			Password: password,
			Locale:   locale,
		})
		if err != nil {
			return nil, s.refused.remember(Classify(err))
		}
		s.userName.Store(&response.Returnval.UserName)
		s.logins.Add(1)
		return nil, nil
	})
	select {
	case result := <-results:
		return result.Err
	case <-ctx.Done():
		return Classify(ctx.Err())
	}
}

// forgetCookie forgets the session that was lost: a vCenter refuses a login within a session that it still knows.
func (s *Session) forgetCookie() {
	address := s.vim.URL()
	for _, path := range []string{"/", address.Path} {
		s.vim.Jar.SetCookies(&url.URL{Scheme: address.Scheme, Host: address.Host, Path: path},
			[]*http.Cookie{{Name: soap.SessionCookieName, Path: path, MaxAge: -1}}) // #nosec G124 -- it deletes a cookie
	}
}
