// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// ErrNoService means that the site's catalog lacks a service.
var ErrNoService = errors.New("no such service")

// Network returns the client of the networking API.
func (s *Session) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "network", openstack.NewNetworkV2)
}

// Compute returns the client of the compute API.
func (s *Session) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "compute", openstack.NewComputeV2)
}

// Image returns the client of the image API.
func (s *Session) Image(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "image", openstack.NewImageV2)
}

// Volume returns the client of the block storage API.
func (s *Session) Volume(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "volume", openstack.NewBlockStorageV3)
}

// LoadBalancer returns the client of the load balancing API.
func (s *Session) LoadBalancer(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "load-balancer", openstack.NewLoadBalancerV2)
}

// SharedFileSystem returns the client of the shared file system API.
func (s *Session) SharedFileSystem(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "shared-file-system", openstack.NewSharedFileSystemV2)
}

// DNS returns the client of the DNS API.
func (s *Session) DNS(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, "dns", openstack.NewDNSV2)
}

// objectStore is the name of the object storage API.
const objectStore = "object-store"

// ObjectStore returns the client of the object storage API.
func (s *Session) ObjectStore(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, objectStore, openstack.NewObjectStorageV1)
}

// service returns the client of a service. The first call may discover the service's API versions, which cannot be canceled by the caller.
// Concurrent callers for the same service therefore share that request and can give up individually; other services are not affected.
func (s *Session) service(ctx context.Context, name string,
	constructor func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) (*gophercloud.ServiceClient,
	error) {
	if service, ok := s.services.Load(name); ok {
		return service.(*gophercloud.ServiceClient), nil
	}
	service, err := s.discoveries.Do(ctx, name, func(context.Context) (*gophercloud.ServiceClient, error) {
		if service, ok := s.services.Load(name); ok {
			return service.(*gophercloud.ServiceClient), nil
		}
		service, err := constructor(s.provider, s.endpoints)
		if err != nil {
			return nil, s.classifyDiscovery(name, err)
		}
		s.transport.name(service.Endpoint, name)
		s.services.Store(name, service)
		return service, nil
	})
	return service, platform.InSite(s.Site, err)
}

// classifyDiscovery classifies an error of the service catalog: a 404 then means that the service is missing.
func (s *Session) classifyDiscovery(service string, err error) error {
	var missing *gophercloud.ErrEndpointNotFound
	if errors.As(err, &missing) || IsNotFound(err) {
		return platform.NewError(platform.ClassConfiguration, "openstack.region: the %s API has no usable %s endpoint in region %q: %w: %w",
			service, s.endpoints.Availability, s.endpoints.Region, ErrNoService, err)
	}
	return Classify(err)
}

// cacheEndpoints caches the endpoints of services once they are known.
func cacheEndpoints(locate gophercloud.EndpointLocator) gophercloud.EndpointLocator {
	var known sync.Map
	return func(opts gophercloud.EndpointOpts) (string, error) {
		key := fmt.Sprintf("%q %d", []string{opts.Type, opts.Name, opts.Region, string(opts.Availability)}, opts.Version)
		if endpoint, ok := known.Load(key); ok {
			return endpoint.(string), nil
		}
		endpoint, err := locate(opts)
		if err == nil {
			known.Store(key, endpoint)
		}
		return endpoint, err
	}
}
