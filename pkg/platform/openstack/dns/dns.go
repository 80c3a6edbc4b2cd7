// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dns changes records in OpenStack Designate.
package dns

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type service struct {
	sessions *client.Sessions
}

// New returns the DNS service of OpenStack.
func New(sessions *client.Sessions) dns.Service {
	return &service{sessions: sessions}
}

// provider is what is kept with a session.
type provider struct {
	session *client.Session
	api     *gophercloud.ServiceClient
	zones   dns.Cache[[]dns.Zone]
}

// providerKey is the key of the provider in its session.
type providerKey struct{}

// Open implements dns.Service. Records that use the credentials of a site share the session of the site.
func (s *service) Open(ctx context.Context, access dns.Access) (dns.Provider, error) {
	name, connection, err := connectionOf(access)
	if err != nil {
		return nil, err
	}
	session, err := s.sessions.Get(ctx, name, connection, site.Credentials(access.Credentials))
	if err != nil {
		return nil, err
	}
	api, err := session.DNS(ctx)
	if err != nil {
		return nil, err
	}
	return session.Value(providerKey{}, func() any { return &provider{session: session, api: api} }).(*provider), nil
}

func connectionOf(access dns.Access) (string, v1alpha1.OpenStackConnection, error) {
	if profile := access.Site; profile != nil {
		if profile.OpenStack == nil {
			return "", v1alpha1.OpenStackConnection{}, platform.NewError(platform.ClassConfiguration, "credentials: dns.site: site %q is no OpenStack site", profile.Name)
		}
		return profile.Name, client.ConnectionOf(profile), nil
	}
	connection := v1alpha1.OpenStackConnection{AuthURL: access.Credentials["authURL"], Region: access.Region}
	if connection.AuthURL == "" {
		return "", connection, platform.NewError(platform.ClassConfiguration, "credentials: key %q is missing", "authURL")
	}
	if certificate := access.Credentials["caCert"]; certificate != "" {
		connection.TLS = &v1alpha1.TLS{CACert: certificate}
	}
	return dns.SiteName, connection, nil
}
