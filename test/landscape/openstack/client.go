// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	corev1 "k8s.io/api/core/v1"
)

// Client looks at one project.
type Client struct {
	compute, network, volume, share, balancing *gophercloud.ServiceClient
	project                                    string
}

// NewClient signs in.
func NewClient(ctx context.Context, c Credentials) (*Client, error) {
	provider, err := openstack.AuthenticatedClient(ctx, c.authOptions())
	if err != nil {
		return nil, fmt.Errorf("sign in to project %s: %w", c.Project, err)
	}
	endpoint := gophercloud.EndpointOpts{Region: c.Region}
	client := &Client{project: c.Project}
	if client.compute, err = openstack.NewComputeV2(provider, endpoint); err != nil {
		return nil, err
	}
	if client.network, err = openstack.NewNetworkV2(provider, endpoint); err != nil {
		return nil, err
	}
	if client.volume, err = openstack.NewBlockStorageV3(provider, endpoint); err != nil {
		return nil, err
	}
	if client.share, err = openstack.NewSharedFileSystemV2(provider, endpoint); err != nil {
		return nil, err
	}
	if client.balancing, err = openstack.NewLoadBalancerV2(provider, endpoint); err != nil {
		return nil, err
	}
	return client, nil
}

// Server is a server as Nova sees it.
type Server struct {
	// ID is the ID of the server.
	ID string
	// Name is the name of the server.
	Name string
	// Status is Nova's status: BUILD, ACTIVE, ...
	Status string
	// Image is the ID of the server's image.
	Image string
	// Metadata is the metadata of the server.
	Metadata map[string]string
	// Zone is the availability zone of the server.
	Zone string
	// Addresses are the fixed addresses of the server.
	Addresses []string
}

// NodeAddresses are the server's addresses as its node reports them.
func (s Server) NodeAddresses() []corev1.NodeAddress {
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: s.Name}}
	for _, address := range s.Addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return addresses
}

// Servers returns the servers whose names begin with prefix, by ID, without those that Nova has deleted and shows for a moment more.
func (c *Client) Servers(ctx context.Context, prefix string) (map[string]Server, error) {
	pages, err := servers.List(c.compute, servers.ListOpts{Name: "^" + prefix}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers of project %s: %w", c.project, err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, err
	}
	result := make(map[string]Server, len(list))
	for _, s := range list {
		if strings.HasPrefix(s.Name, prefix) && s.Status != statusDeleted {
			image, _ := s.Image["id"].(string)
			result[s.ID] = Server{ID: s.ID, Name: s.Name, Status: s.Status, Image: image, Metadata: s.Metadata, Zone: s.AvailabilityZone,
				Addresses: fixedAddresses(s.Addresses)}
		}
	}
	return result, nil
}

// ActiveServers returns the IDs of the active servers whose names begin with prefix. Nova answers that at once, while for the whole servers
// it asks Neutron for ports and security groups.
func (c *Client) ActiveServers(ctx context.Context, prefix string) ([]string, error) {
	pages, err := servers.ListSimple(c.compute, servers.ListOpts{Name: "^" + prefix, Status: statusActive}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("list active servers of project %s: %w", c.project, err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids, nil
}

// Reset reboots a server at once, without an orderly end of what runs.
func (c *Client) Reset(ctx context.Context, id string) error {
	return servers.Reboot(ctx, c.compute, id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr()
}

// ObjectStore signs in and returns the client of Swift. Each request gets a fresh connection: Swift writes an empty chunk behind an answer
// without content, which the next request on the connection would take for its own answer.
func ObjectStore(ctx context.Context, c Credentials) (*gophercloud.ServiceClient, error) {
	provider, err := openstack.AuthenticatedClient(ctx, c.authOptions())
	if err != nil {
		return nil, fmt.Errorf("sign in to project %s: %w", c.Project, err)
	}
	provider.HTTPClient.Transport = &http.Transport{DisableKeepAlives: true}
	return openstack.NewObjectStorageV1(provider, gophercloud.EndpointOpts{Region: c.Region})
}
