// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineclasses says what a machine of a pool is on an OpenStack site, with all names resolved to IDs.
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
	if err := errors.Join(session.CheckRegion(request.Status.OpenStack.Region),
		session.CheckProject(request.Status.OpenStack.ProjectID)); err != nil {
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
	// It comes last, so that a pool that cannot have machines has no server group.
	serverGroupID, err := lookup.serverGroup(ctx, ownerOf(request.Site), request.Pool, settings.ServerGroup)
	if err != nil {
		return err
	}

	status := request.Status.OpenStack
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
		return nil, platform.InSite(s.Name, errNoProfile())
	}
	spec := &v1alpha1.OpenStackMachineSpec{Connection: client.ConnectionOf(s.Profile)}
	if status != nil && status.OpenStack != nil {
		spec.ProjectID, spec.Region = status.OpenStack.ProjectID, status.OpenStack.Region
	}
	return []*v1alpha1.MachineProviderSpec{{Site: s.Name, Shoot: s.Shoot, OpenStack: spec}}, nil
}

// CleanUp implements platform.Cleaner.
func (m *machineClasses) CleanUp(ctx context.Context, s *site.Site, inUse []*v1alpha1.MachineProviderSpec) error {
	return platform.InSite(s.Name, m.cleanUp(ctx, s, inUse))
}

func (m *machineClasses) cleanUp(ctx context.Context, s *site.Site, inUse []*v1alpha1.MachineProviderSpec) error {
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return errNoProfile()
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

func errNoProfile() error {
	return platform.NewError(platform.ClassConfiguration, "the CloudProfile has no OpenStack site of this name any more")
}

// check names what the CloudProfile or the Infrastructure does not say about the site.
func check(request platform.MachineClassRequest) error {
	missing := func(what string) error { return platform.NewError(platform.ClassConfiguration, "%s", what) }
	switch {
	case request.Site.Profile == nil || request.Site.Profile.OpenStack == nil:
		return errNoProfile()
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
