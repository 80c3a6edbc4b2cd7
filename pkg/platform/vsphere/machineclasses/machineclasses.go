// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineclasses generates the machine specs of pools on a vSphere site, with all names resolved to IDs.
package machineclasses

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/vspherecsi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const mebibyte = 1 << 20

type machineClasses struct {
	sessions *client.Sessions
}

// New returns the MachineClasses part of the vSphere platform.
func New(sessions *client.Sessions) platform.MachineClasses {
	return &machineClasses{sessions: sessions}
}

// Resolve implements platform.MachineClasses.
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest,
	spec *v1alpha1.MachineProviderSpec) (err error) {
	defer platform.NameSite(request.Site.Name, &err)
	zone, err := check(request)
	if err != nil {
		return err
	}
	connection := client.ConnectionWithIPAM(request.Site, request.Status.VSphere.InstanceUUID)
	session, err := m.sessions.Get(ctx, request.Site.Name, connection, request.Site.Credentials)
	if err != nil {
		return err
	}

	var (
		settings                = ptr.Deref(request.Settings.VSphere, v1alpha1.VSphereWorker{})
		machineType             = ptr.Deref(request.MachineType.VSphere, v1alpha1.VSphereMachineType{})
		named                   = inventory.Zone{Name: request.Zone.Name, Site: request.Site.Profile.VSphere, Zone: request.Zone.VSphere}
		template, templateErr   = machines.FindTemplate(ctx, session, named.Template(request.Image.VSphere))
		tagIDs, tagsErr         = inventory.FindTags(ctx, session.Tags(), settings.Tags)
		policyID, policyErr     = rootPolicy(ctx, session, request, zone)
		dataDisks, dataDisksErr = dataDisks(ctx, session, request)
	)
	if err := errors.Join(templateErr, tagsErr, policyErr, dataDisksErr); err != nil {
		return err
	}

	spec.VSphere = &v1alpha1.VSphereMachineSpec{
		Connection:                   connection,
		Template:                     template.Self.Value,
		Datacenter:                   zone.Datacenter,
		ComputeCluster:               zone.ComputeCluster,
		ResourcePool:                 zone.ResourcePool,
		Folder:                       zone.Folder,
		FolderPath:                   zone.FolderPath,
		Network:                      zone.Network,
		Datastore:                    zone.Datastore,
		StoragePolicyID:              policyID,
		CPUs:                         int32(request.Capacity.Cpu().Value()), // #nosec G115 -- no machine has that many
		MemoryMiB:                    request.Capacity.Memory().Value() / mebibyte,
		MemoryReservationLockedToMax: machineType.MemoryReservationLockedToMax,
		RootDiskGiB:                  request.VolumeSize,
		DataDisks:                    dataDisks,
		TagIDs:                       append([]string{request.Status.VSphere.OwnerTagID}, tagIDs...),
		ExtraConfig:                  extraConfig(machineType, settings),
		Addresses:                    addressesOf(request.Site),
	}
	if policyID != "" {
		spec.VSphere.Datastore = ""
	}
	if settings.AntiAffinity {
		spec.VSphere.AntiAffinityRule = owner.Owner{Shoot: request.Site.Shoot, Site: request.Site.Name}.RuleName(request.Pool, request.Zone.Name)
	}
	return nil
}

// addressesOf returns where the site's machines get their addresses, nil if that is left to DHCP.
func addressesOf(s *site.Site) *v1alpha1.VSphereMachineAddresses {
	if s.Config == nil || s.Config.VSphere == nil || s.Config.VSphere.IPAM == nil {
		return nil
	}
	addresses := &v1alpha1.VSphereMachineAddresses{
		PoolRef:    *s.Config.VSphere.IPAM.PoolRef.DeepCopy(),
		Nodes:      lists.Map(s.Network.Nodes, netip.Prefix.String),
		DNSServers: s.Network.DNSServers,
		MTU:        s.Network.MTU,
	}
	if s.Network.Gateway.IsValid() {
		addresses.Gateway = s.Network.Gateway.String()
	}
	return addresses
}

// RollsFor implements platform.MachineClasses. Changes of the address pool, of tags and of the anti-affinity rule apply to new
// machines only.
func (m *machineClasses) RollsFor(request platform.MachineClassRequest) []string {
	var (
		rolls       []string
		settings    = ptr.Deref(request.Settings.VSphere, v1alpha1.VSphereWorker{})
		machineType = v1alpha1.VSphereMachineType{}
	)
	if request.MachineType != nil {
		machineType = ptr.Deref(request.MachineType.VSphere, v1alpha1.VSphereMachineType{})
	}
	for key, value := range extraConfig(machineType, settings) {
		rolls = append(rolls, fmt.Sprintf("extraConfig/%s/%s", key, value))
	}
	for _, volume := range request.DataVolumes {
		if volume.Settings.VSphere != nil {
			rolls = append(rolls, fmt.Sprintf("dataVolumes/%s/%s", volume.Name, volume.Settings.VSphere.StoragePolicy))
		}
	}
	slices.Sort(rolls)
	return rolls
}

// NodeLabels implements platform.MachineClasses.
func (m *machineClasses) NodeLabels(s *site.Site, zone *v1alpha1.SiteZone) map[string]string {
	if s.Profile == nil || s.Profile.VSphere == nil || zone.VSphere == nil {
		return nil
	}
	return vspherecsi.Labels(s.Profile, zone)
}

// Locate implements platform.MachineClasses. The shoot has a folder in each datacenter of its zones.
func (m *machineClasses) Locate(s *site.Site, status *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error) {
	if s.Profile == nil || s.Profile.VSphere == nil {
		return nil, platform.InSite(s.Name, missing("the CloudProfile no longer has a vSphere site of this name"))
	}
	if status == nil || status.VSphere == nil || len(status.VSphere.Zones) == 0 {
		return nil, platform.InSite(s.Name, missing("the Infrastructure's providerStatus does not say where the shoot's virtual machines are"))
	}
	var specs []*v1alpha1.MachineProviderSpec
	for _, zone := range status.VSphere.Zones {
		if slices.ContainsFunc(specs, func(spec *v1alpha1.MachineProviderSpec) bool { return spec.VSphere.Folder == zone.Folder }) {
			continue
		}
		specs = append(specs, &v1alpha1.MachineProviderSpec{
			Site:  s.Name,
			Shoot: s.Shoot,
			VSphere: &v1alpha1.VSphereMachineSpec{Connection: client.ConnectionWithIPAM(s, status.VSphere.InstanceUUID), Folder: zone.Folder,
				FolderPath: zone.FolderPath},
		})
	}
	return specs, nil
}

func missing(what string) error {
	return platform.NewError(platform.ClassConfiguration, "%s", what)
}

// check returns the status of the zone, or an error if the CloudProfile or the Infrastructure is incomplete.
func check(request platform.MachineClassRequest) (*v1alpha1.VSphereZoneStatus, error) {
	switch {
	case request.Site.Profile == nil || request.Site.Profile.VSphere == nil:
		return nil, missing("the CloudProfile no longer has a vSphere site of this name")
	case request.Status == nil || request.Status.VSphere == nil:
		return nil, missing("the Infrastructure's providerStatus has no such site")
	case request.Zone == nil || request.Zone.VSphere == nil:
		return nil, missing("the zone has no vsphere block in the CloudProfile")
	case request.MachineType == nil:
		return nil, missing("the machine type is not on the site in the CloudProfile")
	case request.Image == nil || request.Image.VSphere == nil:
		return nil, missing("the machine image has no vsphere block in the CloudProfile")
	case request.Capacity.Cpu().IsZero() || request.Capacity.Memory().Value() < mebibyte:
		return nil, missing("the machine type has no cpu or memory in the CloudProfile")
	}
	zone := lists.Find(request.Status.VSphere.Zones, func(z *v1alpha1.VSphereZoneStatus) bool { return z.Name == request.Zone.Name })
	if zone == nil {
		return nil, missing("the Infrastructure's providerStatus has no such zone")
	}
	return zone, nil
}

// rootPolicy returns the storage policy of the pool's volume type, or else that of the zone.
func rootPolicy(ctx context.Context, session *client.Session, request platform.MachineClassRequest,
	zone *v1alpha1.VSphereZoneStatus) (string, error) {
	if request.VolumeType == nil || request.VolumeType.VSphere == nil {
		return zone.StoragePolicyID, nil
	}
	return session.StoragePolicyID(ctx, request.VolumeType.VSphere.StoragePolicy)
}

func dataDisks(ctx context.Context, session *client.Session, request platform.MachineClassRequest) ([]v1alpha1.VSphereDataDisk, error) {
	var (
		disks []v1alpha1.VSphereDataDisk
		errs  []error
	)
	for _, volume := range request.DataVolumes {
		disk := v1alpha1.VSphereDataDisk{Name: volume.Name, SizeGiB: volume.Size}
		policy := volume.Settings.VSphere
		if policy == nil && volume.Type != nil {
			policy = volume.Type.VSphere
		}
		if policy != nil {
			id, err := session.StoragePolicyID(ctx, policy.StoragePolicy)
			if err != nil {
				errs = append(errs, &platform.Error{Class: platform.ClassOf(err), Err: fmt.Errorf("data volume %q: %w", volume.Name, err)})
				continue
			}
			disk.StoragePolicyID = id
		}
		disks = append(disks, disk)
	}
	return disks, errors.Join(errs...)
}

// extraConfig merges the extra configuration of the machine type and of the pool. The pool takes precedence.
func extraConfig(machineType v1alpha1.VSphereMachineType, settings v1alpha1.VSphereWorker) map[string]string {
	if len(machineType.ExtraConfig)+len(settings.ExtraConfig) == 0 {
		return nil
	}
	result := map[string]string{}
	maps.Copy(result, machineType.ExtraConfig)
	maps.Copy(result, settings.ExtraConfig)
	return result
}
