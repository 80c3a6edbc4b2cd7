// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack/boot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// availabilityZone is that of the zone in OpenStack.
const availabilityZone = "az1"

// stackNodes has the addresses of servers.
var stackNodes = netip.MustParsePrefix("10.250.0.0/22")

// stack is an OpenStack whose servers boot.
type stack struct {
	bed       *openstack.Bed
	servers   *boot.Servers
	access    openstack.Credentials
	inspector *openstack.Client
	// network and administration are Neutron for the project, and for the cloud's administrator.
	network, administration *gophercloud.ServiceClient
	// group and router are the IDs of the security group and of the router of nodes.
	group, router string
}

// startStack starts OpenStack. stop ends what was started, also after an error.
func startStack(ctx context.Context, dir string, rack *hardware.Rack, progress io.Writer) (s *stack, err error) {
	s = &stack{}
	socket := filepath.Join(dir, "servers.sock")
	if s.servers, err = boot.Start(rack, socket); err != nil {
		return s, err
	}
	s.bed = openstack.NewMachinesBed(filepath.Join(dir, "openstack"), socket)
	if _, err := s.bed.Start(ctx, progress); err != nil {
		return s, err
	}
	if s.access, err = s.bed.Credentials(openstack.Projects[0]); err != nil {
		return s, err
	}
	if s.inspector, err = openstack.NewClient(ctx, s.access); err != nil {
		return s, err
	}
	if s.network, err = service(ctx, s.access, client.NewNetworkV2); err != nil {
		return s, err
	}
	administrator, err := s.bed.Credentials("admin")
	if err != nil {
		return s, err
	}
	s.administration, err = service(ctx, administrator, client.NewNetworkV2)
	return s, err
}

// service is a service of OpenStack for who has access.
func service(ctx context.Context, access openstack.Credentials,
	open func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) (*gophercloud.ServiceClient, error) {
	provider, err := client.AuthenticatedClient(ctx, gophercloud.AuthOptions{IdentityEndpoint: access.AuthURL, Username: access.Username,
		Password: access.Password, DomainName: access.Domain, TenantName: access.Project})
	if err != nil {
		return nil, err
	}
	return open(provider, gophercloud.EndpointOpts{Region: access.Region})
}

func (s *stack) stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	var errs []error
	if s.bed != nil {
		errs = append(errs, s.bed.Stop(ctx, io.Discard))
	}
	if s.servers != nil {
		errs = append(errs, s.servers.Stop())
	}
	return errors.Join(errs...)
}

// site is the site in the configuration of the cloud-controller-manager.
func (s *stack) site() v1alpha1.CloudControllerSite {
	return v1alpha1.CloudControllerSite{Name: shoot.Sites[0], OpenStack: &v1alpha1.OpenStackCloudController{
		Connection: v1alpha1.OpenStackConnection{AuthURL: s.access.AuthURL, Region: s.access.Region},
		Zones:      []v1alpha1.OpenStackCloudControllerZone{{Name: zones[siteNumber(shoot.Sites[0])], AvailabilityZone: availabilityZone}},
	}}
}
