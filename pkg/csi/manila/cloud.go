// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package manila

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// microversion is the version of Manila's API that is used. It is the first one with access rules for ranges of IPv6.
const microversion = "2.38"

// Cloud is a site whose shares are managed.
type Cloud struct {
	// service is the client of the site's shared file system API.
	service *gophercloud.ServiceClient
	// network is the ID of the share network that shares are in, empty if there is none.
	network string
	// clients are the ranges of the site's nodes.
	clients []string
}

// Connect returns the cloud of a session.
func Connect(ctx context.Context, session *client.Session, _ *drivers.Config, site *drivers.SiteConfig) (*Cloud, error) {
	shared, err := session.SharedFileSystem(ctx)
	if err != nil {
		return nil, err
	}
	service := *shared
	service.Microversion = microversion
	return &Cloud{service: &service, network: site.ShareNetworkID, clients: site.ShareClients}, nil
}
