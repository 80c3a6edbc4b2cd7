// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// userAgent is the name of the binary: the services' logs tell the extension from the driver.
var userAgent = filepath.Base(os.Args[0])

// VolumeTypeMicroversion is the version of the compute API that accepts a volume type in the block device mapping.
const VolumeTypeMicroversion = "2.67"

// OwnVolumesMicroversion is the version of the compute API that says which volumes of a server are deleted with it.
const OwnVolumesMicroversion = "2.3"

// Session is an authenticated connection to one site. Its token is renewed when it expires; it is safe for concurrent use.
type Session struct {
	// Site is the name of the site.
	Site string

	provider  *gophercloud.ProviderClient
	endpoints gophercloud.EndpointOpts
	transport *transport

	services    sync.Map
	discoveries platform.Shared[*gophercloud.ServiceClient]
	values      sync.Map
}

func newSession(ctx context.Context, siteName string, connection endpoint, credentials site.Credentials, retry retry, gate *gate) (*Session,
	error) {
	auth, err := authOptions(connection.OpenStackConnection, credentials)
	if err != nil {
		return nil, err
	}
	roundTripper, err := newTransport(siteName, connection, gate)
	if err != nil {
		return nil, err
	}

	provider, err := openstack.NewClient(connection.AuthURL)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "authURL %q: %w", connection.AuthURL, err)
	}
	provider.UserAgent.Prepend(userAgent)
	provider.HTTPClient = *sharedtransport.NewClient(roundTripper, sharedtransport.RequestTimeout(connection.RequestTimeout))
	provider.RetryFunc = retry.transient
	provider.RetryBackoffFunc = retry.rateLimited
	provider.MaxBackoffRetries = maxRetries
	roundTripper.name(provider.IdentityBase+"v3/", "identity")

	if err := openstack.AuthenticateV3(ctx, provider, auth, gophercloud.EndpointOpts{}); err != nil {
		return nil, classifyLogin(err, auth)
	}
	if err := roundTripper.allow(provider.GetAuthResult()); err != nil {
		return nil, classifyLogin(err, auth)
	}
	provider.EndpointLocator = rememberEndpoints(provider.EndpointLocator)
	renew := provider.ReauthFunc
	provider.ReauthFunc = func(ctx context.Context) error {
		// As for the first login, a call that gives up does not end the one that others wait for.
		err := renew(context.WithoutCancel(ctx))
		if err == nil {
			err = roundTripper.allow(provider.GetAuthResult())
		}
		return classifyLogin(err, auth)
	}
	return &Session{
		Site:     siteName,
		provider: provider,
		endpoints: gophercloud.EndpointOpts{
			Region:       connection.Region,
			Availability: gophercloud.Availability(endpointType(connection.OpenStackConnection)),
		},
		transport: roundTripper,
	}, nil
}

// Roles returns the names of the roles that the credentials have in the project.
func (s *Session) Roles() ([]string, error) {
	result, ok := s.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return nil, platform.NewError(platform.ClassTransient, "the login has no roles")
	}
	roles, err := result.ExtractRoles()
	if err != nil {
		return nil, Classify(err)
	}
	var names []string
	for _, role := range roles {
		names = append(names, role.Name)
	}
	return names, nil
}

// Provider returns the client of the session for code that makes its own clients of services, and the options for those. Once the
// session has a service, a client of it is made without a request.
func (s *Session) Provider() (*gophercloud.ProviderClient, gophercloud.EndpointOpts) {
	return s.provider, s.endpoints
}

// Value returns what create returned the first time it was called for the key on this session.
func (s *Session) Value(key any, create func() any) any {
	if value, ok := s.values.Load(key); ok {
		return value
	}
	value, _ := s.values.LoadOrStore(key, create())
	return value
}

func authOptions(connection v1alpha1.OpenStackConnection, credentials site.Credentials) (*gophercloud.AuthOptions, error) {
	auth := &gophercloud.AuthOptions{IdentityEndpoint: connection.AuthURL, AllowReauth: true}
	if id := credentials["applicationCredentialID"]; id != "" {
		auth.ApplicationCredentialID = id
		auth.ApplicationCredentialSecret = credentials["applicationCredentialSecret"]
		return auth, nil
	}
	for _, key := range []string{"domainName", "tenantName", "username", "password"} {
		if credentials[key] == "" {
			return nil, platform.NewError(platform.ClassConfiguration,
				"credentials: key %q is missing; either domainName, tenantName, username and password or applicationCredentialID and applicationCredentialSecret are needed", key)
		}
	}
	auth.Username = credentials["username"]
	auth.Password = credentials["password"]
	auth.DomainName = credentials["domainName"]
	auth.Scope = &gophercloud.AuthScope{ProjectName: credentials["tenantName"], DomainName: credentials["domainName"]}
	return auth, nil
}

func endpointType(connection v1alpha1.OpenStackConnection) string {
	if connection.EndpointType == "" {
		return string(gophercloud.AvailabilityPublic)
	}
	return connection.EndpointType
}

// ConnectionOf is how an OpenStack site of the CloudProfile is reached.
func ConnectionOf(profile *v1alpha1.CloudProfileSite) v1alpha1.OpenStackConnection {
	return v1alpha1.OpenStackConnection{
		AuthURL:        profile.OpenStack.AuthURL,
		Region:         profile.OpenStack.Region,
		EndpointType:   profile.OpenStack.EndpointType,
		TLS:            profile.TLS,
		Proxy:          profile.Proxy,
		RequestTimeout: profile.RequestTimeout,
	}
}
