// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// locale is the language of the vCenter's messages.
const locale = "en_US"

// methodKey is the key of the SOAP method in the context of its HTTP request.
type methodKey struct{}

// named passes the SOAP method of a request to the transport, and rejects an answer that lacks what the method returns.
type named struct {
	next soap.RoundTripper
}

// RoundTrip implements soap.RoundTripper.
func (n named) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	method := strings.TrimSuffix(reflect.TypeOf(request).Elem().Name(), "Body")
	ctx = context.WithValue(ctx, methodKey{}, method)
	if next, ok := request.(*methods.ContinueRetrievePropertiesExBody); ok {
		state, token, _ := strings.Cut(next.Req.Token, "/")
		ctx = transport.ContinueList(ctx, state)
		request = &methods.ContinueRetrievePropertiesExBody{Req: &types.ContinueRetrievePropertiesEx{This: next.Req.This, Token: token}}
	} else {
		ctx = transport.OneList(ctx)
	}
	if err := n.next.RoundTrip(ctx, request, response); err != nil {
		return err
	}
	// The decoder leaves out what an answer lacks, and callers use it unchecked.
	result := reflect.ValueOf(response).Elem().FieldByName("Res")
	if result.IsNil() {
		return platform.NewError(platform.ClassTransient, "the answer to %s is missing", method)
	}
	if value := result.Elem().FieldByName("Returnval"); value.IsValid() {
		if value.Kind() == reflect.Struct && value.IsZero() {
			return platform.NewError(platform.ClassTransient, "the answer to %s is empty", method)
		}
		if err := checkReferences(method, value.Interface()); err != nil {
			return err
		}
	}
	switch body := response.(type) {
	case *methods.RetrievePropertiesExBody:
		if asked, ok := request.(*methods.RetrievePropertiesExBody); ok {
			if err := checkObjects(asked.Req.SpecSet, body.Res.Returnval); err != nil {
				return err
			}
		}
		return checkPage(ctx, body.Res.Returnval)
	case *methods.ContinueRetrievePropertiesExBody:
		return checkPage(ctx, &body.Res.Returnval)
	}
	return nil
}

// checkReferences rejects empty references.
func checkReferences(method string, value any) error {
	var references []types.ManagedObjectReference
	switch value := value.(type) {
	case types.ManagedObjectReference:
		references = append(references, value)
	case *types.ManagedObjectReference:
		if value != nil {
			references = append(references, *value)
		}
	case []types.ManagedObjectReference:
		references = value
	}
	if slices.ContainsFunc(references, func(r types.ManagedObjectReference) bool { return r.Type == "" || r.Value == "" }) {
		return platform.NewError(platform.ClassTransient, "the answer to %s contains an empty reference", method)
	}
	return nil
}

// checkObjects rejects an answer that has nothing about any of the requested objects, as if they had no properties, and one that has
// objects that were not requested.
func checkObjects(filters []types.PropertyFilterSpec, page *types.RetrieveResult) error {
	var (
		kinds    = map[string]bool{}
		named    = map[types.ManagedObjectReference]bool{}
		searches bool
		lacks    string
	)
	for _, filter := range filters {
		for _, properties := range filter.PropSet {
			kinds[properties.Type] = true
		}
		for _, object := range filter.ObjectSet {
			searches = searches || len(object.SelectSet) > 0
			if kinds[object.Obj.Type] && (object.Skip == nil || !*object.Skip) {
				named[object.Obj], lacks = true, object.Obj.String()
			}
		}
	}
	if page == nil {
		page = &types.RetrieveResult{}
	}
	for _, object := range page.Objects {
		if named[object.Obj] {
			lacks = ""
			named[object.Obj] = searches // once, unless there are several ways to it
		} else if !searches || !kinds[object.Obj.Type] {
			return platform.NewError(platform.ClassTransient, "the vCenter returned %s, which was not requested",
				platform.Printable(object.Obj.String()))
		}
	}
	if lacks != "" && (page.Token == "" || !searches) {
		return platform.NewError(platform.ClassForbidden,
			"the vCenter returned nothing about %s: the credentials lack System.View, or it is out of order", lacks)
	}
	return nil
}

// checkPage adds to the token of the next page how much was read, because the vCenter may return pages endlessly. It rejects properties
// that are missing without a fault, which callers would use as a fault.
func checkPage(ctx context.Context, page *types.RetrieveResult) error {
	if page == nil {
		return nil
	}
	if page.Token != "" {
		page.Token = transport.ListState(ctx) + "/" + page.Token
	}
	for _, object := range page.Objects {
		for _, missing := range object.MissingSet {
			if missing.Fault.Fault == nil {
				return platform.NewError(platform.ClassTransient, "property %s is missing without a reason", platform.Printable(missing.Path))
			}
		}
	}
	return nil
}

// Kept returns the token of the next page of a list if only length bytes of the page are kept, and the state of the list for the next
// call. state is that of the pages before, empty for the first page.
func Kept(token, state string, length int) (next, newState string) {
	after, token, _ := strings.Cut(token, "/")
	newState = transport.KeptState(state, after, length)
	return newState + "/" + token, newState
}

// describe returns the service and method of a request for metrics.
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

// authenticated logs in again and repeats a request that failed because the vCenter had ended the session.
type authenticated struct {
	session *Session
	next    soap.RoundTripper
}

// RoundTrip implements soap.RoundTripper.
func (a *authenticated) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	if a.session.closed.Load() {
		return errClosed
	}
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

// roundTrip returns the fault that a vCenter hides if properties are read without a session: it returns the object, with each property in
// the missing set.
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

// renew logs in again, unless the number of logins has changed already. Concurrent calls share the result.
func (s *Session) renew(ctx context.Context, seen int64) error {
	_, err := s.login.Do(ctx, "soap", func(ctx context.Context) (any, error) {
		if s.logins.Load() != seen {
			return nil, nil
		}
		if err := s.mayLogIn(); err != nil {
			return nil, err
		}
		s.forgetCookie()
		password, _ := s.user.Password()
		response, err := methods.Login(ctx, named{s.vim.Client}, &types.Login{
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
		if seen == 0 {
			return nil, nil
		}
		return nil, s.identify(ctx)
	})
	return err
}

// identify determines which vCenter answers. If it changed, answers of the former one are meaningless, and it returns an error.
func (s *Session) identify(ctx context.Context) error {
	content, err := methods.GetServiceContent(ctx, named{s.vim.Client})
	if err != nil {
		return Classify(err)
	}
	if former := *s.instance.Swap(&content.About.InstanceUuid); former != content.About.InstanceUuid {
		return platform.NewError(platform.ClassTransient, "vCenter %s answers instead of %s", content.About.InstanceUuid, former)
	}
	return nil
}

// forgetCookie drops the cookie of the lost session, because a vCenter rejects a login within a session that it still knows.
func (s *Session) forgetCookie() {
	address := s.vim.URL()
	for _, path := range []string{"/", address.Path} {
		s.vim.Jar.SetCookies(&url.URL{Scheme: address.Scheme, Host: address.Host, Path: path},
			[]*http.Cookie{{Name: soap.SessionCookieName, Path: path, MaxAge: -1}}) // #nosec G124 -- it deletes a cookie
	}
}
