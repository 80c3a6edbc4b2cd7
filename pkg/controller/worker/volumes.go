// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// rootVolume returns type and size in GiB of the root volume in the zone. The type is nil and the size zero if the pool does not
// ask for them.
func rootVolume(p *pool, z *zone, f *facts) (*v1alpha1.SiteVolumeType, int, error) {
	volume := p.spec.Volume
	if volume == nil {
		return nil, 0, nil
	}
	return resolveVolume("volume", volume.Type, volume.Size, volume.Encrypted, z, f)
}

// dataVolumes returns the pool's data volumes in the zone.
func dataVolumes(p *pool, z *zone, f *facts) ([]platform.DataVolume, error) {
	var volumes []platform.DataVolume
	for _, volume := range p.spec.DataVolumes {
		volumeType, size, err := resolveVolume("data volume "+volume.Name, volume.Type, volume.Size, volume.Encrypted, z, f)
		if err != nil {
			return nil, err
		}
		volumes = append(volumes, platform.DataVolume{
			Name:     volume.Name,
			Size:     size,
			Type:     volumeType,
			Settings: p.workerDataVolume(volume.Name, z.siteName),
		})
	}
	return volumes, nil
}

func resolveVolume(what string, typeName *string, size string, encrypted *bool, z *zone, f *facts) (*v1alpha1.SiteVolumeType, int, error) {
	if ptr.Deref(encrypted, false) {
		return nil, 0, platform.NewError(platform.ClassConfiguration, "%s: encrypted is not supported; use a volume type that encrypts", what)
	}
	gibibytes, err := worker.DiskSize(size)
	if err != nil {
		return nil, 0, platform.NewError(platform.ClassConfiguration, "%s: size %q: %w", what, size, err)
	}
	if typeName == nil {
		return nil, gibibytes, nil
	}
	volumeType := helper.FindVolumeType(f.profile, *typeName, z.siteName)
	if volumeType == nil {
		return nil, 0, platform.NewError(platform.ClassConfiguration, "%s: the CloudProfile does not have volume type %q on the site", what, *typeName)
	}
	return volumeType, gibibytes, nil
}

// workerDataVolume returns the pool's settings of a data volume for a site; they are empty if there are none.
func (p *pool) workerDataVolume(name, siteName string) v1alpha1.WorkerDataVolumeSite {
	if p.config == nil {
		return v1alpha1.WorkerDataVolumeSite{}
	}
	for _, volume := range p.config.DataVolumes {
		if volume.Name != name {
			continue
		}
		if i := slices.IndexFunc(volume.Sites, func(s v1alpha1.WorkerDataVolumeSite) bool { return s.Name == siteName }); i >= 0 {
			return volume.Sites[i]
		}
	}
	return v1alpha1.WorkerDataVolumeSite{}
}
