// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// userAgent is the name of the binary: the services' logs tell the extension from the driver.
var userAgent = filepath.Base(os.Args[0])

// VolumeTypeMicroversion is the version of the compute API that accepts a volume type in the block device mapping.
const VolumeTypeMicroversion = "2.67"

// Session is an authenticated connection to one site. Its token is renewed when it expires; it is safe for concurrent use.
type Session struct {
	// Site is the name of the site.
	Site string

	provider  *gophercloud.ProviderClient
	endpoints gophercloud.EndpointOpts
	transport *transport

	mutex    sync.Mutex
	services map[string]*gophercloud.ServiceClient
	values   sync.Map
}

func newSession(ctx context.Context, siteName string, connection v1alpha1.OpenStackConnection, credentials site.Credentials, retry retry) (*Session, error) {
	auth, err := authOptions(connection, credentials)
	if err != nil {
		return nil, err
	}
	roundTripper, err := newTransport(siteName, connection)
	if err != nil {
		return nil, err
	}

	provider, err := openstack.NewClient(connection.AuthURL)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "authURL %q: %w", connection.AuthURL, err)
	}
	provider.UserAgent.Prepend(userAgent)
	provider.HTTPClient = http.Client{Transport: roundTripper, Timeout: requestTimeout(connection)}
	provider.RetryFunc = retry.transient
	provider.RetryBackoffFunc = retry.rateLimited
	provider.MaxBackoffRetries = maxRetries
	roundTripper.name(provider.IdentityBase+"v3/", "identity")

	if err := openstack.AuthenticateV3(ctx, provider, auth, gophercloud.EndpointOpts{}); err != nil {
		return nil, classifyLogin(err, auth)
	}
	renew := provider.ReauthFunc
	provider.ReauthFunc = func(ctx context.Context) error {
		// As for the first login, a call that gives up does not end the one that others wait for.
		return classifyLogin(renew(context.WithoutCancel(ctx)), auth)
	}
	return &Session{
		Site:     siteName,
		provider: provider,
		endpoints: gophercloud.EndpointOpts{
			Region:       connection.Region,
			Availability: gophercloud.Availability(endpointType(connection)),
		},
		transport: roundTripper,
		services:  map[string]*gophercloud.ServiceClient{},
	}, nil
}

// Network returns the client of the networking API.
func (s *Session) Network() (*gophercloud.ServiceClient, error) {
	return s.service("network", openstack.NewNetworkV2)
}

// Compute returns the client of the compute API.
func (s *Session) Compute() (*gophercloud.ServiceClient, error) {
	return s.service("compute", openstack.NewComputeV2)
}

// Image returns the client of the image API.
func (s *Session) Image() (*gophercloud.ServiceClient, error) {
	return s.service("image", openstack.NewImageV2)
}

// Volume returns the client of the block storage API.
func (s *Session) Volume() (*gophercloud.ServiceClient, error) {
	return s.service("volume", openstack.NewBlockStorageV3)
}

// LoadBalancer returns the client of the load balancing API.
func (s *Session) LoadBalancer() (*gophercloud.ServiceClient, error) {
	return s.service("load-balancer", openstack.NewLoadBalancerV2)
}

// SharedFileSystem returns the client of the shared file system API.
func (s *Session) SharedFileSystem() (*gophercloud.ServiceClient, error) {
	return s.service("shared-file-system", openstack.NewSharedFileSystemV2)
}

// ErrNoService means that the site's catalog does not have a service.
var ErrNoService = errors.New("no such service")

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

// Value returns what create returned the first time it was called for the key on this session.
func (s *Session) Value(key any, create func() any) any {
	if value, ok := s.values.Load(key); ok {
		return value
	}
	value, _ := s.values.LoadOrStore(key, create())
	return value
}

func (s *Session) service(name string, constructor func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) (*gophercloud.ServiceClient, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()

	if service, ok := s.services[name]; ok {
		return service, nil
	}
	service, err := constructor(s.provider, s.endpoints)
	if err != nil {
		return nil, platform.InSite(s.Site, s.classifyDiscovery(name, err))
	}
	s.transport.name(service.Endpoint, name)
	s.services[name] = service
	return service, nil
}

// classifyDiscovery is Classify for what the service catalog says of a service: what is not found there is the service.
func (s *Session) classifyDiscovery(service string, err error) error {
	var missing *gophercloud.ErrEndpointNotFound
	if errors.As(err, &missing) || IsNotFound(err) {
		return platform.NewError(platform.ClassConfiguration, "openstack.region: the %s API has no usable %s endpoint in region %q: %w: %w",
			service, s.endpoints.Availability, s.endpoints.Region, ErrNoService, err)
	}
	return Classify(err)
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
