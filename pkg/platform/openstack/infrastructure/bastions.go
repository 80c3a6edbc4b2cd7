// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// bastionSecurityGroupKind are the security groups of the site's bastions.
var bastionSecurityGroupKind = kind[groups.SecGroup]{
	name: "security group",
	own: func(ctx context.Context, f *flow) ([]groups.SecGroup, error) {
		return client.List(ctx, groups.List(f.network, groups.ListOpts{Description: f.owner.Description()}), groups.ExtractGroups)
	},
	describe: describeSecurityGroup,
	remove:   networking(groups.Delete),
}

// ofBastions runs the step for the site's bastions.
func ofBastions(run step) step {
	return func(ctx context.Context, f *flow) error { return run(ctx, f.bastions()) }
}

// bastions returns the flow with the owner of the site's bastions.
func (f *flow) bastions() *flow {
	result := *f
	result.owner = f.owner.OfBastions()
	return &result
}

// deleteBastions deletes what is left of bastions. It would block the router and the subnet.
var deleteBastions = ofBastions(sequence(deleteMachines, machineFloatingIPKind.delete, bastionSecurityGroupKind.delete))

// orphansOfBastions lists the objects of a kind that belong to the site's bastions.
func orphansOfBastions(list orphanList) orphanList {
	return func(ctx context.Context, f *flow) ([]v1alpha1.Orphan, error) { return list(ctx, f.bastions()) }
}
