// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
)

// admin is the name of the administrator and of the administrator's project.
const admin = "admin"

// SetPortQuota limits the ports of a project; -1 is no limit. It returns the limit that was in force before.
func (b *Bed) SetPortQuota(ctx context.Context, project string, ports int) (before int, err error) {
	credentials, err := b.Credentials(admin)
	if err != nil {
		return 0, err
	}
	provider, err := openstack.AuthenticatedClient(ctx, credentials.authOptions())
	if err != nil {
		return 0, fmt.Errorf("sign in as administrator: %w", err)
	}
	endpoint := gophercloud.EndpointOpts{Region: credentials.Region}
	identity, err := openstack.NewIdentityV3(provider, endpoint)
	if err != nil {
		return 0, err
	}
	network, err := openstack.NewNetworkV2(provider, endpoint)
	if err != nil {
		return 0, err
	}

	pages, err := projects.List(identity, projects.ListOpts{Name: project}).AllPages(ctx)
	if err != nil {
		return 0, err
	}
	found, err := projects.ExtractProjects(pages)
	if err != nil {
		return 0, err
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%d projects are named %q", len(found), project)
	}
	quota, err := quotas.Get(ctx, network, found[0].ID).Extract()
	if err != nil {
		return 0, err
	}
	return quota.Port, quotas.Update(ctx, network, found[0].ID, quotas.UpdateOpts{Port: &ports}).Err
}
