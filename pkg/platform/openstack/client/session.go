// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"unsafe"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// userAgent is the name of the binary, so that the services' logs distinguish the extension from the driver.
var userAgent = filepath.Base(os.Args[0])

// VolumeTypeMicroversion is the compute API version that accepts a volume type in the block device mapping.
const VolumeTypeMicroversion = "2.67"

// OwnVolumesMicroversion is the compute API version that reports which volumes are deleted with a server.
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

func newSession(ctx context.Context, siteName string, connection endpoint, credentials site.Credentials, retry retry, gate *gate,
	wrap sharedtransport.Wrap) (*Session, error) {
	auth, err := authOptions(connection.OpenStackConnection, credentials)
	if err != nil {
		return nil, err
	}
	roundTripper, err := newTransport(siteName, connection, gate)
	if err != nil {
		return nil, err
	}

	var sent http.RoundTripper = roundTripper
	if wrap != nil {
		sent = wrap(siteName, roundTripper.describe, roundTripper)
	}

	provider, err := openstack.NewClient(connection.AuthURL)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "authURL %q: %w", connection.AuthURL, err)
	}
	provider.UserAgent.Prepend(userAgent)
	provider.HTTPClient = *sharedtransport.NewClient(sent, sharedtransport.RequestTimeout(connection.RequestTimeout))
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
	provider.EndpointLocator = cacheEndpoints(provider.EndpointLocator)
	renew := provider.ReauthFunc
	provider.ReauthFunc = func(ctx context.Context) error {
		// As with the first login, a canceled call must not end a login that others wait for.
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
		return nil, platform.NewError(platform.ClassTransient, "the token has no roles")
	}
	roles, err := result.ExtractRoles()
	return lists.Map(roles, func(role tokens.Role) string { return role.Name }), Classify(err)
}

// Provider returns the session's provider client for code that creates its own service clients, and the endpoint options for those. Once
// the session has a service, creating another client for it sends no request.
func (s *Session) Provider() (*gophercloud.ProviderClient, gophercloud.EndpointOpts) {
	return s.provider, s.endpoints
}

// Value returns the value that create returned when it was first called for the key on this session.
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
				"credentials: key %q is missing; either domainName, tenantName, username and password "+
					"or applicationCredentialID and applicationCredentialSecret are required", key)
		}
	}
	auth.Username = credentials["username"]
	auth.Password = credentials["password"]
	auth.DomainName = credentials["domainName"]
	auth.Scope = &gophercloud.AuthScope{ProjectName: credentials["tenantName"], DomainName: credentials["domainName"]}
	return auth, nil
}

func endpointType(connection v1alpha1.OpenStackConnection) string {
	return cmp.Or(connection.EndpointType, string(gophercloud.AvailabilityPublic))
}

// CheckScope rejects a session in another region or project than the shoot's. Errors are classified.
func (s *Session) CheckScope(region, projectID string) error {
	return errors.Join(s.CheckRegion(region), s.CheckProject(projectID))
}

// SetFields sets unexported fields of a library's struct whose constructor would log in on its own. It fails if this version of the library
// lacks one of the fields.
func SetFields(object any, values map[string]any) error {
	for name, value := range values {
		field := reflect.ValueOf(object).Elem().FieldByName(name)
		if !field.IsValid() || !reflect.TypeOf(value).AssignableTo(field.Type()) {
			return platform.NewError(platform.ClassConfiguration, "this version of cloud-provider-openstack has no field %q of type %T", name, value)
		}
		target := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())) // #nosec G103 -- the type is checked
		target.Elem().Set(reflect.ValueOf(value))
	}
	return nil
}

// ErrNoProfile means that the CloudProfile lacks the site.
var ErrNoProfile = platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has an OpenStack site of this name")

// ConnectionOf returns the connection to an OpenStack site of the CloudProfile.
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

// ProjectID returns the ID of the project that the credentials are scoped to. Errors are classified.
func (s *Session) ProjectID() (string, error) {
	result, ok := s.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return "", platform.NewError(platform.ClassTransient, "the token has no project")
	}
	project, err := result.ExtractProject()
	if err != nil {
		return "", Classify(err)
	}
	if project == nil {
		return "", platform.NewError(platform.ClassConfiguration, "credentials: not scoped to a project")
	}
	return project.ID, nil
}

// CheckProject rejects credentials that are scoped to another project than the given one. An empty ID accepts all projects. Errors are
// classified.
func (s *Session) CheckProject(id string) error {
	if id == "" {
		return nil
	}
	own, err := s.ProjectID()
	if err != nil {
		return err
	}
	if own != id {
		return platform.NewError(platform.ClassConfiguration,
			"credentials: they are for project %q, but the shoot is in project %q; nothing is touched until they are for that project again",
			own, id)
	}
	return nil
}

// CheckRegion rejects a session in another region than the given one. An empty region accepts all regions. Projects are the same in all
// regions of a Keystone, so CheckProject does not tell regions apart. Errors are classified.
func (s *Session) CheckRegion(region string) error {
	if region == "" || region == s.endpoints.Region {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration,
		"openstack.region: it is %q, but the shoot is in region %q; nothing is touched until it is that region again", s.endpoints.Region, region)
}
