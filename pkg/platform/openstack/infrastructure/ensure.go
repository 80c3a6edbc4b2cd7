// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// ensure makes what is missing or different. What does not depend on each other is made at the same time.
func (f *flow) ensure(ctx context.Context, seen *seen) error {
	return parallel(ctx,
		sequence(
			func(ctx context.Context) error {
				return parallel(ctx,
					sequence(f.ensureNetwork(seen), f.ensureSubnet(seen), f.ensureShareNetwork(seen)),
					f.ensureRouter(seen),
				)
			},
			f.ensureRouterInterface(seen),
		),
		f.ensureSecurityGroup(seen),
		f.ensureKeyPair(seen),
	)
}

// field selects the place of an object in the state.
type field func(*v1alpha1.OpenStackState) **v1alpha1.OpenStackObject

func (f *flow) recordObject(ctx context.Context, id string, managed bool, place field) error {
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) {
		*place(state) = &v1alpha1.OpenStackObject{ID: id, Managed: managed}
	})
}

// forget removes an object from the state.
func (f *flow) forget(ctx context.Context, place field) error {
	return f.Record(ctx, func(state *v1alpha1.OpenStackState) { *place(state) = nil })
}

// adopt records an object as ours and tags it.
func (f *flow) adopt(ctx context.Context, resource, id string, tags []string, place field) error {
	if err := f.recordObject(ctx, id, true, place); err != nil {
		return err
	}
	missing := slices.ContainsFunc(f.owner.Tags(), func(tag string) bool { return !slices.Contains(tags, tag) })
	if !missing {
		return nil
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(tags), f.owner.Tags()...))))
	_, err := attributestags.ReplaceAll(ctx, f.network, resource, id, attributestags.ReplaceAllOpts{Tags: wanted}).Extract()
	return client.Classify(err)
}

// status is what the site's infrastructure came to.
func (f *flow) status(seen *seen) *v1alpha1.SiteStatus {
	status := &v1alpha1.OpenStackStatus{
		ProjectID:         f.State().ProjectID,
		Region:            f.State().Connection.Region,
		NetworkID:         seen.network.ID,
		NetworkMTU:        int32(seen.network.MTU), // #nosec G115 -- an MTU is small
		SubnetID:          seen.subnet.ID,
		RouterID:          seen.router.ID,
		FloatingNetworkID: seen.router.GatewayInfo.NetworkID,
		FloatingSubnetID:  seen.floatingSubnetID,
		SecurityGroupID:   seen.securityGroup.ID,
	}
	if seen.keyPair != nil {
		status.KeyName = seen.keyPair.Name
	}
	if seen.shareNetwork != nil {
		status.ShareNetworkID = seen.shareNetwork.ID
	}
	return &v1alpha1.SiteStatus{Name: f.site.Name, EgressCIDRs: egressCIDRs(&seen.router.GatewayInfo), OpenStack: status}
}

// errForeign is the message about an object that bears the mark of another shoot. It does not tell which.
const errForeign = "it was not made for this shoot and cannot be used"

// refuseForeign returns an error for a given object that bears the mark of another shoot, unless the CloudProfile says that shoots may name
// it.
func (f *flow) refuseForeign(field, id, description string, tags, allowed []string) error {
	if !f.owner.IsForeign(description, tags) || slices.Contains(allowed, id) {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "openstack.%s: %q: %s", field, id, errForeign)
}

// profile is the site's OpenStack block in the CloudProfile, empty if there is none.
func (f *flow) profile() v1alpha1.OpenStackProfile {
	if f.site.Profile == nil || f.site.Profile.OpenStack == nil {
		return v1alpha1.OpenStackProfile{}
	}
	return *f.site.Profile.OpenStack
}

func notFound(field, id string) error {
	return platform.NewError(platform.ClassConfiguration, "openstack.%s: %q does not exist or is not visible to the credentials", field, id)
}
