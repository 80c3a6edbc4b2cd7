// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// requestIDHeader is in all answers of OpenStack's own services.
const requestIDHeader = "X-Openstack-Request-Id"

// Classify gives an error of an OpenStack API its class and a message without the request's details. Errors that have a
// class keep it; nil stays nil.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	var classified *platform.Error
	if errors.As(err, &classified) {
		return err
	}

	var reauthenticate *gophercloud.ErrUnableToReauthenticate
	if errors.As(err, &reauthenticate) {
		return Classify(reauthenticate.ErrReauth)
	}
	return fromResponse(err)
}

// classifyLogin is Classify for a login: what is not found there is the application credential, whose ID Keystone then tells, or the
// identity API, and never the object that somebody wants to reach. The identity API may quote what it does not accept, so credentials
// are removed from its message.
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
	case "IpAddressGenerationFailure", "IpAddressGenerationFailureAllSubnets", "NoNetworkAvailable":
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

// IsNotFound reports whether a site said that an object does not exist.
func IsNotFound(err error) bool {
	return platform.ClassOf(Classify(err)) == platform.ClassNotFound
}

// fault is the body of an error of the OpenStack APIs: {"NeutronError": {"type", "message"}}, {"<reason>": {"code", "message"}} or,
// of Designate, {"code", "type", "message"} or {"code", "type", "errors"}.
type fault struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// flatFault is the body of an error of Designate. Errors say what is wrong with fields.
type flatFault struct {
	fault
	Errors struct {
		Errors []fault `json:"errors"`
	} `json:"errors"`
}

func parseFault(body []byte) fault {
	var flat flatFault
	if json.Unmarshal(body, &flat) == nil {
		for _, f := range flat.Errors.Errors {
			flat.Message = strings.TrimPrefix(flat.Message+"; "+f.Message, "; ")
		}
		if flat.Message != "" {
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

// quota reports whether a 403 of the compute API means a used-up quota: the API has no type for that.
func (f fault) quota() bool {
	return slices.ContainsFunc(quotaMessages, func(start string) bool { return strings.HasPrefix(f.Message, start) })
}

var quotaMessages = []string{"Quota exceeded", "Quota limit exceeded", "Maximum number of "}

// apiError shows method, URL path, status and the API's own message, and never a header or a request's body.
type apiError struct {
	response *gophercloud.ErrUnexpectedResponseCode
	fault    fault
}

func (e *apiError) Error() string {
	message := platform.Printable(e.fault.Message)
	if message == "" {
		message = http.StatusText(e.response.Actual)
	}
	return fmt.Sprintf("%s %s: %d %s", e.response.Method, platform.Printable(withoutQuery(e.response.URL)), e.response.Actual, message)
}

func (e *apiError) Unwrap() error {
	return *e.response
}

func withoutQuery(url string) string {
	path, _, _ := strings.Cut(url, "?")
	return path
}
