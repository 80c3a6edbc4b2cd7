// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineclasses describes the machines of a pool on an OpenStack site, with all names resolved to IDs.
package machineclasses

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/servergroup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/topology"
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
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest,
	spec *v1alpha1.MachineProviderSpec) (err error) {
	defer platform.NameSite(request.Site.Name, &err)
	if err := check(request); err != nil {
		return err
	}
	connection := client.ConnectionOf(request.Site.Profile)
	session, err := m.sessions.Get(ctx, request.Site.Name, connection, request.Site.Credentials)
	if err != nil {
		return err
	}
	if err := session.CheckScope(request.Status.OpenStack.Region, request.Status.OpenStack.ProjectID); err != nil {
		return err
	}

	lookup := lookupOf(session)
	flavorID, flavorErr := lookup.flavor(ctx, request.MachineType.OpenStack.Flavor)
	imageID, imageErr := lookup.image(ctx, request.Image.OpenStack)
	settings := ptr.Deref(request.Settings.OpenStack, v1alpha1.OpenStackWorker{})
	securityGroupIDs, securityGroupsErr := lookup.securityGroups(ctx, ownerOf(request.Site), request.Site.Profile.OpenStack.SecurityGroups,
		settings.AdditionalSecurityGroups)
	if err := errors.Join(flavorErr, imageErr, securityGroupsErr); err != nil {
		return err
	}
	// The server group comes last, so that a pool that cannot have machines has none.
	serverGroupID, err := lookup.serverGroup(ctx, ownerOf(request.Site), request.Pool, settings.ServerGroup)
	if err != nil {
		return err
	}

	status := request.Status.OpenStack
	if settings.FloatingIP && status.FloatingNetworkID == "" {
		return platform.NewError(platform.ClassConfiguration,
			"floatingIP: the router of the site has no external network, so that machines cannot have floating IPs")
	}
	spec.OpenStack = &v1alpha1.OpenStackMachineSpec{
		Connection:       connection,
		ProjectID:        status.ProjectID,
		Region:           status.Region,
		FlavorID:         flavorID,
		ImageID:          imageID,
		AvailabilityZone: request.Zone.OpenStack.AvailabilityZone,
		NetworkID:        status.NetworkID,
		SubnetID:         status.SubnetID,
		SecurityGroupIDs: withoutDuplicates(append([]string{status.SecurityGroupID}, securityGroupIDs...)),
		KeyName:          status.KeyName,
		RootDisk:         rootDisk(request),
		DataDisks:        dataDisks(request),
		ServerGroupID:    serverGroupID,
		PodCIDRs:         request.PodCIDRs,
		Metadata:         metadata(request.Pool, settings.MachineLabels),
	}
	if settings.FloatingIP {
		spec.OpenStack.FloatingNetworkID, spec.OpenStack.FloatingSubnetID = status.FloatingNetworkID, status.FloatingSubnetID
	}
	return nil
}

// RollsFor implements platform.MachineClasses.
func (m *machineClasses) RollsFor(request platform.MachineClassRequest) []string {
	var rolls []string
	for _, volume := range request.DataVolumes {
		if settings := volume.Settings.OpenStack; settings != nil {
			rolls = append(rolls, fmt.Sprintf("dataVolumes/%s/%s", volume.Name, settings.Type))
		}
	}
	settings := ptr.Deref(request.Settings.OpenStack, v1alpha1.OpenStackWorker{})
	if settings.ServerGroup != nil {
		rolls = append(rolls, "serverGroup/"+settings.ServerGroup.Policy)
	}
	for _, label := range settings.MachineLabels {
		if label.TriggerRollingOnUpdate {
			rolls = append(rolls, fmt.Sprintf("machineLabels/%s/%s", label.Name, label.Value))
		}
	}
	return rolls
}

// NodeLabels implements platform.MachineClasses.
func (m *machineClasses) NodeLabels(_ *site.Site, zone *v1alpha1.SiteZone) map[string]string {
	if zone.OpenStack == nil {
		return nil
	}
	return topology.Labels(zone.OpenStack)
}

// Locate implements platform.MachineClasses.
func (m *machineClasses) Locate(s *site.Site, status *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error) {
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return nil, platform.InSite(s.Name, client.ErrNoProfile)
	}
	spec := &v1alpha1.OpenStackMachineSpec{Connection: client.ConnectionOf(s.Profile)}
	if status != nil && status.OpenStack != nil {
		spec.ProjectID, spec.Region = status.OpenStack.ProjectID, status.OpenStack.Region
	}
	return []*v1alpha1.MachineProviderSpec{{Site: s.Name, Shoot: s.Shoot, OpenStack: spec}}, nil
}

var _ platform.Cleaner = &machineClasses{}

// CleanUp implements platform.Cleaner.
func (m *machineClasses) CleanUp(ctx context.Context, s *site.Site, inUse []*v1alpha1.MachineProviderSpec) (err error) {
	defer platform.NameSite(s.Name, &err)
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return client.ErrNoProfile
	}
	session, err := m.sessions.Get(ctx, s.Name, client.ConnectionOf(s.Profile), s.Credentials)
	if err != nil {
		return err
	}
	compute, err := session.Compute(ctx)
	if err != nil {
		return err
	}
	existing, err := servergroup.List(ctx, compute, ownerOf(s))
	if err != nil {
		return err
	}
	var errs []error
	for _, group := range existing {
		used := slices.ContainsFunc(inUse, func(spec *v1alpha1.MachineProviderSpec) bool {
			return spec.OpenStack != nil && spec.OpenStack.ServerGroupID == group.ID
		})
		if used {
			continue
		}
		if err := servergroup.Delete(ctx, compute, group.ID); err != nil {
			errs = append(errs, fmt.Errorf("deleting server group %s (%s): %w", group.Name, group.ID, err))
		}
	}
	return errors.Join(errs...)
}

func ownerOf(s *site.Site) owner.Owner {
	return owner.Owner{Shoot: s.Shoot, Site: s.Name}
}

// check returns an error if the CloudProfile or the Infrastructure lacks information about the site.
func check(request platform.MachineClassRequest) error {
	missing := func(what string) error { return platform.NewError(platform.ClassConfiguration, "%s", what) }
	switch {
	case request.Site.Profile == nil || request.Site.Profile.OpenStack == nil:
		return client.ErrNoProfile
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

// rootDisk lets servers boot from a volume if the pool has a volume type; otherwise the flavor's disk is used.
func rootDisk(request platform.MachineClassRequest) *v1alpha1.OpenStackRootDisk {
	if request.VolumeType == nil || request.VolumeType.OpenStack == nil || request.VolumeSize == 0 {
		return nil
	}
	return &v1alpha1.OpenStackRootDisk{Type: request.VolumeType.OpenStack.Type, Size: request.VolumeSize}
}

// dataDisks are the pool's data volumes. The pool's volume type takes precedence over that of the CloudProfile; without either, the site's
// default type is used.
func dataDisks(request platform.MachineClassRequest) []v1alpha1.OpenStackDataDisk {
	var disks []v1alpha1.OpenStackDataDisk
	for _, volume := range request.DataVolumes {
		disk := v1alpha1.OpenStackDataDisk{Name: volume.Name, Size: volume.Size}
		switch {
		case volume.Settings.OpenStack != nil:
			disk.Type = volume.Settings.OpenStack.Type
		case volume.Type != nil && volume.Type.OpenStack != nil:
			disk.Type = volume.Type.OpenStack.Type
		}
		disks = append(disks, disk)
	}
	return disks
}

// metadata returns the labels of the pool's machines and the name of the pool.
func metadata(pool string, labels []v1alpha1.OpenStackMachineLabel) map[string]string {
	result := map[string]string{}
	for _, label := range labels {
		result[label.Name] = label.Value
	}
	result[owner.MetadataPool] = pool
	return result
}

// withoutDuplicates keeps the first of equal values.
func withoutDuplicates(values []string) []string {
	var result []string
	for _, value := range values {
		if !slices.Contains(result, value) {
			result = append(result, value)
		}
	}
	return result
}
