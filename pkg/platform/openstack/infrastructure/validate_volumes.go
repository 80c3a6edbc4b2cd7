// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	volumezones "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/availabilityzones"
	blockstoragelimits "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// volumeChecks are the checks of volumes and storage classes.
type volumeChecks struct{ *validation }

func (v volumeChecks) wantsVolumes() bool {
	return slices.ContainsFunc(v.demands, func(d platform.Demand) bool { return len(d.VolumeSizes) > 0 })
}

// volumeService checks that the site has the block storage service if pools or storage classes need it.
func (v volumeChecks) volumeService(ctx context.Context, result *platform.Result) error {
	if !v.wantsVolumes() && len(v.site.Profile.StorageClasses) == 0 {
		return nil
	}
	_, err := v.session.Volume(ctx)
	switch {
	case !errors.Is(err, client.ErrNoService):
		return err
	case v.wantsVolumes():
		result.Forbidden(v.path, "the site has no block storage service, which the pools' volumes need")
	default:
		result.Warn(v.path, "the site has no block storage service, which the storage classes of the CloudProfile need")
	}
	return nil
}

// cinder returns the client of the block storage service, nil if the site has none.
func (v volumeChecks) cinder(ctx context.Context) (*gophercloud.ServiceClient, error) {
	service, err := v.session.Volume(ctx)
	if errors.Is(err, client.ErrNoService) {
		return nil, nil // volumeService reports that.
	}
	return service, err
}

func (v volumeChecks) listVolumeTypes(ctx context.Context) ([]volumetypes.VolumeType, error) {
	service, err := v.cinder(ctx)
	if service == nil || err != nil {
		return nil, err
	}
	return client.List(ctx, volumetypes.List(service, nil), volumetypes.ExtractVolumeTypes)
}

// typedVolume is a volume of a pool with a type.
type typedVolume struct {
	path *fieldpath.Path
	name string
}

// typedVolumes returns the pools' volumes that have a type.
func (v volumeChecks) typedVolumes() []typedVolume {
	var typed []typedVolume
	for i := range v.demands {
		demand := &v.demands[i]
		if t := demand.VolumeType; t != nil && t.OpenStack != nil {
			typed = append(typed, typedVolume{demand.Path.Child("volume", "type"), t.OpenStack.Type})
		}
		for _, volume := range demand.DataVolumes {
			path := demand.Path.Child("dataVolumes").Key(volume.Name).Child("type")
			switch {
			case volume.Settings.OpenStack != nil:
				typed = append(typed, typedVolume{path, volume.Settings.OpenStack.Type})
			case volume.Type != nil && volume.Type.OpenStack != nil:
				typed = append(typed, typedVolume{path, volume.Type.OpenStack.Type})
			}
		}
	}
	return typed
}

// volumeTypesExist checks that the types of the pools' volumes exist.
func (v volumeChecks) volumeTypesExist(_ context.Context, result *platform.Result) error {
	wanted := v.typedVolumes()
	if len(wanted) == 0 {
		return nil
	}
	existing, err := v.volumeTypes()
	if err != nil {
		return err
	}
	for _, volume := range wanted {
		if !hasType(existing, volume.name) {
			result.Invalid(volume.path, volume.name, "no volume type of this name exists or is visible to the credentials")
		}
	}
	return nil
}

func hasType(existing []volumetypes.VolumeType, name string) bool {
	return slices.ContainsFunc(existing, func(t volumetypes.VolumeType) bool { return t.Name == name || t.ID == name })
}

// storageClasses checks that the volume types of the CloudProfile's storage classes exist. The shoot need not use all of them, so findings
// are warnings.
func (v volumeChecks) storageClasses(ctx context.Context, result *platform.Result) error {
	service, err := v.cinder(ctx)
	if service == nil || err != nil {
		return err
	}
	for _, class := range v.site.Profile.StorageClasses {
		if class.OpenStack == nil || class.OpenStack.Type == "" {
			continue
		}
		existing, err := v.volumeTypes()
		if err != nil {
			return err
		}
		if !hasType(existing, class.OpenStack.Type) {
			result.Warn(v.path, "volume type %q of storage class %q does not exist or is not visible to the credentials", class.OpenStack.Type,
				class.Name)
		}
	}
	return nil
}

// storageZones checks that the availability zones of the CloudProfile's storage classes exist.
func (v volumeChecks) storageZones(ctx context.Context, result *platform.Result) error {
	wanted := lists.Map(v.site.Profile.StorageClasses, func(class v1alpha1.StorageClass) string {
		return ptr.Deref(class.OpenStack, v1alpha1.OpenStackStorageClass{}).AvailabilityZone
	})
	service, err := v.cinder(ctx)
	if service == nil || err != nil || strings.Join(wanted, "") == "" {
		return err
	}
	existing, err := client.AvailabilityZones(ctx, volumezones.List(service))
	if err != nil {
		return err
	}
	for i, name := range wanted {
		if name != "" && !isAvailable(existing, name) {
			result.Warn(v.path, "availability zone %q of storage class %q does not exist or is not available", name,
				v.site.Profile.StorageClasses[i].Name)
		}
	}
	return nil
}

// volumeRoom checks that the pools fit into the quotas of the block storage service.
func (v volumeChecks) volumeRoom(ctx context.Context, result *platform.Result) error {
	if !v.wantsVolumes() {
		return nil
	}
	service, err := v.session.Volume(ctx)
	if err != nil {
		return err
	}
	var (
		known    []flavors.Flavor
		own      []servers.Server
		limits   *blockstoragelimits.Limits
		existing []volumes.Volume
	)
	err = parallel(
		from(&known, v.flavors),
		from(&own, v.servers),
		into(&limits, func(ctx context.Context, _ *flow) (*blockstoragelimits.Limits, error) {
			return client.Extracted(blockstoragelimits.Get(ctx, service).Extract())
		}),
		into(&existing, func(ctx context.Context, _ *flow) ([]volumes.Volume, error) {
			return client.List(ctx, volumes.List(service, nil), volumes.ExtractVolumes)
		}),
	)(ctx, v.flow)
	if err != nil {
		return err
	}
	absolute := &limits.Absolute
	limit := quota{
		limit: amounts{resourceVolumes: absolute.MaxTotalVolumes, resourceGigabytes: absolute.MaxTotalVolumeGigabytes},
		used:  amounts{resourceVolumes: absolute.TotalVolumesUsed, resourceGigabytes: absolute.TotalGigabytesUsed},
	}
	compare(quotaChecks(v).needs(known), limit.leaves(v.volumesOf(own, existing)), result)
	return nil
}

// volumesOf returns what the volumes of servers use, excluding those of pods.
func (v volumeChecks) volumesOf(own []servers.Server, existing []volumes.Volume) amounts {
	ids := idsOf(own)
	used := amounts{}
	for i := range existing {
		if attachedTo(&existing[i], ids) && !v.owner.OwnsVolume(existing[i].Metadata) {
			used.add(amounts{resourceVolumes: 1, resourceGigabytes: existing[i].Size})
		}
	}
	return used
}
