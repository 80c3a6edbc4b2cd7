// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineclasses says what a machine of a pool is on an OpenStack site, with all names resolved to IDs.
package machineclasses

import (
	"context"
	"errors"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type machineClasses struct {
	sessions *client.Sessions
}

// New returns the MachineClasses part of the OpenStack platform.
func New(sessions *client.Sessions) platform.MachineClasses {
	return &machineClasses{sessions: sessions}
}

// Resolve implements platform.MachineClasses.
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	return platform.InSite(request.Site.Name, m.resolve(ctx, request, spec))
}

func (m *machineClasses) resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if err := check(request); err != nil {
		return err
	}
	connection := client.ConnectionOf(request.Site.Profile)
	session, err := m.sessions.Get(ctx, request.Site.Name, connection, request.Site.Credentials)
	if err != nil {
		return err
	}

	lookup := lookupOf(session)
	flavorID, flavorErr := lookup.flavor(ctx, request.MachineType.OpenStack.Flavor)
	imageID, imageErr := lookup.image(ctx, request.Image.OpenStack)
	if err := errors.Join(flavorErr, imageErr); err != nil {
		return err
	}

	status := request.Status.OpenStack
	spec.OpenStack = &v1alpha1.OpenStackMachineSpec{
		Connection:       connection,
		FlavorID:         flavorID,
		ImageID:          imageID,
		AvailabilityZone: request.Zone.OpenStack.AvailabilityZone,
		NetworkID:        status.NetworkID,
		SubnetID:         status.SubnetID,
		SecurityGroupIDs: []string{status.SecurityGroupID},
		KeyName:          status.KeyName,
		RootDisk:         rootDisk(request),
		PodCIDRs:         request.PodCIDRs,
	}
	return nil
}

// RollsFor implements platform.MachineClasses.
func (m *machineClasses) RollsFor(platform.MachineClassRequest) []string {
	return nil
}

// CleanUp implements platform.MachineClasses.
func (m *machineClasses) CleanUp(context.Context, *site.Site, []*v1alpha1.MachineProviderSpec) error {
	return nil
}

// check names what the CloudProfile or the Infrastructure does not say about the site.
func check(request platform.MachineClassRequest) error {
	missing := func(what string) error { return platform.NewError(platform.ClassConfiguration, "%s", what) }
	switch {
	case request.Site.Profile == nil || request.Site.Profile.OpenStack == nil:
		return missing("the CloudProfile has no OpenStack site of this name any more")
	case request.Status == nil || request.Status.OpenStack == nil:
		return missing("the Infrastructure's providerStatus has no such site")
	case request.Zone == nil || request.Zone.OpenStack == nil:
		return missing("the zone has no openstack block in the CloudProfile")
	case request.MachineType == nil || request.MachineType.OpenStack == nil:
		return missing("the machine type has no openstack block in the CloudProfile")
	case request.Image == nil || request.Image.OpenStack == nil:
		return missing("the machine image has no openstack block in the CloudProfile")
	default:
		return nil
	}
}

// rootDisk makes servers boot from a volume if the pool asks for a volume type; otherwise the flavor's disk is used.
func rootDisk(request platform.MachineClassRequest) *v1alpha1.OpenStackRootDisk {
	if request.VolumeType == nil || request.VolumeType.OpenStack == nil || request.VolumeSize == 0 {
		return nil
	}
	return &v1alpha1.OpenStackRootDisk{Type: request.VolumeType.OpenStack.Type, Size: request.VolumeSize}
}
