// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
)

// deleteServiceSecurityGroups deletes the security groups that the shoot's Services left behind.
func (f *flow) deleteServiceSecurityGroups(ctx context.Context) error {
	found, err := f.serviceSecurityGroups(ctx)
	if err != nil {
		return err
	}
	for i := range found {
		if err := client.IgnoreNotFound(groups.Delete(ctx, f.network, found[i].ID).ExtractErr()); err != nil {
			return err
		}
	}
	return nil
}

// serviceSecurityGroups lists the security groups that were made for the shoot's Services. They do not tell their site, and
// another one may be in the same project: there are some only if the whole shoot is deleted.
func (f *flow) serviceSecurityGroups(ctx context.Context) ([]groups.SecGroup, error) {
	if f.site.Removed() {
		return nil, nil
	}
	project, err := f.session.ProjectID()
	if err != nil {
		return nil, err
	}
	found, err := client.List(ctx, groups.List(f.network, groups.ListOpts{ProjectID: project}), groups.ExtractGroups)
	return slices.DeleteFunc(found, func(g groups.SecGroup) bool { return !f.owner.OwnsServiceSecurityGroup(g.Description) }), err
}

// deleteServerGroups deletes the server groups of all pools.
func (f *flow) deleteServerGroups(ctx context.Context) error {
	found, err := servergroup.List(ctx, f.compute, f.owner)
	if err != nil {
		return err
	}
	for _, group := range found {
		if err := servergroup.Delete(ctx, f.compute, group.ID); err != nil {
			return err
		}
	}
	return nil
}
