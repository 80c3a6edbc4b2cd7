// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dns manages records in OpenStack Designate.
package dns

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// requestTimeout limits requests to endpoints that were configured by a tenant. Callers may have less time.
const requestTimeout = 30 * time.Second

type service struct {
	sessions *client.Sessions
	guard    *transport.Guard
}

// New returns the DNS service of OpenStack. The guard opens connections to endpoints that were configured by a tenant.
func New(sessions *client.Sessions, guard *transport.Guard) dns.Service {
	return &service{sessions: sessions, guard: guard}
}

// provider is stored with a session.
type provider struct {
	session *client.Session
	// target is the endpoint that was configured by a tenant, empty for that of a site.
	target string
	api    *gophercloud.ServiceClient
	zones  dns.Cache[[]dns.Zone]
}

// providerKey is the key of the provider in its session.
type providerKey struct{}

// Open implements dns.Service. Records that use a site's credentials share the session of the site.
func (s *service) Open(ctx context.Context, access dns.Access) (dns.Provider, error) {
	name, connection, err := connectionOf(access)
	if err != nil {
		return nil, err
	}
	var (
		guard  *transport.Guard
		target string
	)
	if access.Site == nil {
		if !s.guard.PlainHTTP && !strings.HasPrefix(connection.AuthURL, "https://") {
			return nil, platform.NewError(platform.ClassConfiguration, "credentials: authURL must begin with https://")
		}
		guard, target = s.guard.Refusing(access.Refused), "Designate behind "+connection.AuthURL
	}
	session, err := s.sessions.GetGuarded(ctx, name, connection, site.Credentials(access.Credentials), guard)
	if err != nil {
		return nil, loginError(target, err)
	}
	api, err := session.DNS(ctx)
	if err != nil {
		if _, projectErr := session.ProjectID(); projectErr != nil {
			return nil, redact(target, err) // the server that accepted the login was not Keystone
		}
		return nil, discoveryError(target, connection.Region, err)
	}
	return session.Value(providerKey{}, func() any { return &provider{session: session, target: target, api: api} }).(*provider), nil
}

func connectionOf(access dns.Access) (string, v1alpha1.OpenStackConnection, error) {
	if profile := access.Site; profile != nil {
		if profile.OpenStack == nil {
			return "", v1alpha1.OpenStackConnection{}, platform.NewError(platform.ClassConfiguration,
				"credentials: dns.site: site %q is not an OpenStack site", profile.Name)
		}
		return profile.Name, client.ConnectionOf(profile), nil
	}
	connection := v1alpha1.OpenStackConnection{
		AuthURL: access.Credentials["authURL"], Region: access.Region, RequestTimeout: &metav1.Duration{Duration: requestTimeout},
	}
	if connection.AuthURL == "" {
		return "", connection, platform.NewError(platform.ClassConfiguration, "credentials: key %q is missing", "authURL")
	}
	if certificate := access.Credentials["caCert"]; certificate != "" {
		connection.TLS = &v1alpha1.TLS{CACert: certificate}
	}
	return dns.SiteName, connection, nil
}

// loginError returns the error of a login. Responses other than Keystone's about credentials do not come from an identity API.
func loginError(target string, err error) error {
	return redact(target, err, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
}

// discoveryError returns the error of discovering the DNS API.
func discoveryError(target, region string, err error) error {
	if missing := (*gophercloud.ErrEndpointNotFound)(nil); target != "" && errors.As(err, &missing) {
		return platform.InSite(dns.SiteName, platform.NewError(platform.ClassConfiguration,
			"%s: the catalog has no usable public endpoint of the DNS API in region %q", target, region[:min(len(region), 100)]))
	}
	return redact(target, err)
}

// requestError returns the error of a request for records or zones.
func (p *provider) requestError(err error) error {
	return redact(p.target, client.Classify(err), http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusConflict,
		http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable)
}

// redact replaces the message of an error if the endpoint was configured by a tenant. Responses with status codes other than the given ones
// do not come from the service.
func redact(target string, err error, codes ...int) error {
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
