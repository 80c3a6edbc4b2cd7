// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"errors"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// ofLogin is the error of a login. What is no answer of Keystone about the credentials is none of an identity API.
func ofLogin(target string, err error) error {
	return own(target, err, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
}

// ofDiscovery is the error of looking for the DNS API.
func ofDiscovery(target, region string, err error) error {
	if missing := (*gophercloud.ErrEndpointNotFound)(nil); target != "" && errors.As(err, &missing) {
		return platform.InSite(dns.SiteName, platform.NewError(platform.ClassConfiguration,
			"%s: its catalog has no usable public endpoint of the DNS API in region %q", target, region[:min(len(region), 100)]))
	}
	return own(target, err)
}

// failed is the error of a request for records or zones.
func (p *provider) failed(err error) error {
	return own(p.target, client.Classify(err), http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusConflict,
		http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable)
}

// own returns an error in words of our own if a tenant named the endpoint. Answers with other codes than those are none of the service.
func own(target string, err error, codes ...int) error {
	if target == "" || err == nil {
		return err
	}
	var (
		response   gophercloud.ErrUnexpectedResponseCode
		classified *platform.Error
		status     = http.StatusServiceUnavailable
	)
	held := errors.As(err, &classified) && classified.RetryAfter > 0
	if errors.As(err, &response) {
		status = response.Actual
	}
	if !held && !slices.Contains(codes, response.Actual) {
		return platform.InSite(dns.SiteName, dns.Unusable(target, err))
	}
	result := &platform.Error{Class: platform.ClassOf(err), Err: dns.Refused(target, platform.ClassOf(err), status)}
	if held {
		result.RetryAfter = classified.RetryAfter
	}
	return platform.InSite(dns.SiteName, result)
}
