// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// requestIDHeader is set in all responses of OpenStack services.
const requestIDHeader = "X-Openstack-Request-Id"

// Classify assigns a class to an error of an OpenStack API and removes request details from its message. Classified errors are returned
// unchanged; nil stays nil.
func Classify(err error) error {
	if err == nil || platform.IsClassified(err) {
		return err
	}

	var reauthenticate *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &reauthenticate) {
		return Classify(reauthenticate.ErrReauth)
	}
	return fromResponse(err)
}

// classifyLogin classifies a login error. A 404 then refers to the application credential, whose ID Keystone includes in the message, or to
// the identity API, never to the object that the caller wants. The identity API may echo rejected input, so credentials are removed from
// the message.
func classifyLogin(err error, auth *gophercloud.AuthOptions) error {
	err = Classify(err)
	var api *apiError
	if errors.As(err, &api) {
		for _, secret := range []string{auth.Password, auth.ApplicationCredentialSecret} {
			if secret != "" {
				api.fault.Message = strings.ReplaceAll(api.fault.Message, secret, "***")
			}
		}
	}
	if !IsNotFound(err) {
		return err
	}
	if id := auth.ApplicationCredentialID; id != "" && api != nil && strings.Contains(api.fault.Message, id) {
		return platform.NewError(platform.ClassUnauthenticated, "the application credential does not exist: %w", err)
	}
	return platform.NewError(platform.ClassConfiguration, "authURL: version 3 of the identity API is not found: %w", err)
}

func fromResponse(err error) error {
	var response gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &response) {
		return classifyResponse(&response)
	}

	var endpoint *gophercloud.ErrEndpointNotFound
	switch {
	case errors.As(err, &endpoint), sharedtransport.IsUntrusted(err):
		return &platform.Error{Class: platform.ClassConfiguration, Err: platform.Foreign(err)}
	default:
		return &platform.Error{Class: platform.ClassTransient, Err: platform.Foreign(err)}
	}
}

func classifyResponse(response *gophercloud.ErrUnexpectedResponseCode) error {
	fault := parseFault(response.Body)
	class := classOfResponse(response.Actual, fault)
	return &platform.Error{
		Class:      class,
		RetryAfter: retryAfter(response.ResponseHeader),
		Err:        &apiError{response: response, fault: fault},
	}
}

func classOfResponse(code int, f fault) platform.Class {
	switch f.Type {
	case "OverQuota":
		return platform.ClassQuota
	case "IpAddressGenerationFailure", "IpAddressGenerationFailureAllSubnets", "NoNetworkAvailable",
		"ExternalIpAddressExhausted":
		return platform.ClassExhausted
	}
	switch code {
	case http.StatusUnauthorized:
		return platform.ClassUnauthenticated
	case http.StatusForbidden:
		if f.quota() {
			return platform.ClassQuota
		}
		return platform.ClassForbidden
	case http.StatusRequestEntityTooLarge:
		return platform.ClassQuota
	case http.StatusNotFound, http.StatusGone:
		return platform.ClassNotFound
	case http.StatusConflict:
		return platform.ClassConflict
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return platform.ClassConfiguration
	default:
		return platform.ClassTransient
	}
}

// IsNotFound reports whether a site confirmed that an object does not exist.
func IsNotFound(err error) bool {
	return platform.ClassOf(Classify(err)) == platform.ClassNotFound
}

// fault is the error body of the OpenStack APIs: {"NeutronError": {"type", "message"}}, {"<reason>": {"code", "message"}}, or for Designate
// {"code", "type", "message"} or {"code", "type", "errors"}, and for Octavia {"faultcode", "faultstring"}.
type fault struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// flatFault is the error body of Designate, whose errors list the problems with individual fields, and of Octavia.
type flatFault struct {
	fault
	FaultString string `json:"faultstring"`
	Errors      struct {
		Errors []fault `json:"errors"`
	} `json:"errors"`
}

func parseFault(body []byte) fault {
	var flat flatFault
	if json.Unmarshal(body, &flat) == nil {
		for _, f := range flat.Errors.Errors {
			flat.Message = strings.TrimPrefix(flat.Message+"; "+f.Message, "; ")
		}
		if flat.Message = cmp.Or(flat.Message, flat.FaultString); flat.Message != "" {
			return flat.fault
		}
	}
	var faults map[string]json.RawMessage
	if json.Unmarshal(body, &faults) != nil {
		return fault{}
	}
	for _, raw := range faults {
		var f fault
		if json.Unmarshal(raw, &f) == nil && f.Message != "" {
			return f
		}
	}
	return fault{}
}

// quota reports whether a 403 of the compute or load balancing API means an exhausted quota: they have no error type for it.
func (f fault) quota() bool {
	return slices.ContainsFunc(quotaMessages, func(start string) bool { return strings.HasPrefix(f.Message, start) })
}

var quotaMessages = []string{"Quota exceeded", "Quota limit exceeded", "Quota has been met", "Maximum number of "}

// apiError shows method, URL path, status and the API's message, never a header or request body.
type apiError struct {
	response *gophercloud.ErrUnexpectedResponseCode
	fault    fault
}

func (e *apiError) Error() string {
	message := cmp.Or(platform.Printable(e.fault.Message), http.StatusText(e.response.Actual))
	return fmt.Sprintf("%s %s: %d %s", e.response.Method, platform.Printable(withoutQuery(e.response.URL)), e.response.Actual, message)
}

func (e *apiError) Unwrap() error {
	return *e.response
}

func withoutQuery(url string) string {
	path, _, _ := strings.Cut(url, "?")
	return path
}

// List returns the objects of all pages. Errors are classified.
func List[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	var objects []T
	visit := func(page pagination.Page) error {
		found, err := extract(page)
		objects = append(objects, found...)
		return err
	}
	err := EachPage(ctx, pager, visit)
	if errors.Is(err, errMarker) {
		objects = nil
		err = EachPage(ctx, pager, visit)
	}
	if err != nil {
		return nil, err
	}
	return objects, nil
}

var errMarker = errors.New("an object was deleted while its list was read")

// EachPage calls visit for each page of a list. If the object that marks the start of the next page was deleted, that page cannot be
// requested and the error is of ClassTransient. Errors are classified.
func EachPage(ctx context.Context, pager pagination.Pager, visit func(pagination.Page) error) error {
	first := true
	err := Classify(pager.EachPage(sharedtransport.OneList(ctx), func(_ context.Context, page pagination.Page) (bool, error) {
		first = false
		return true, visit(page)
	}))
	var api *apiError
	if !first && errors.As(err, &api) && api.response.Actual == http.StatusBadRequest {
		return platform.NewError(platform.ClassTransient, "%w: %w", errMarker, api)
	}
	return err
}

// Extracted returns the object of a response. A response without the object is an error. Errors are classified.
func Extracted[T any](object *T, err error) (*T, error) {
	if err != nil {
		return nil, Classify(err)
	}
	if object == nil {
		return nil, errNoObject
	}
	if id := reflect.ValueOf(object).Elem().FieldByName("ID"); id.IsValid() && id.IsZero() {
		return nil, errNoObject
	}
	return object, nil
}

var errNoObject = platform.NewError(platform.ClassTransient, "the response lacks the requested object")

// IgnoreNotFound classifies err and returns nil if the site confirmed that the object does not exist.
func IgnoreNotFound(err error) error {
	if err = Classify(err); IsNotFound(err) {
		return nil
	}
	return err
}
