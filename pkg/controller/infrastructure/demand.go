// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"maps"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// poolsPath is the path of the pools in the Shoot.
var poolsPath = field.NewPath("spec", "provider", "workers")

// demands returns the demands of the shoot's pools by name of the site. Pools that cannot be decoded, and what is missing in the
// CloudProfile, are omitted, because other components report that.
func demands(cluster *extensionscontroller.Cluster, profile *v1alpha1.CloudProfileConfig, region string) map[string][]platform.Demand {
	result := map[string][]platform.Demand{}
	if cluster.Shoot == nil {
		return result
	}
	var (
		pools      = cluster.Shoot.Spec.Provider.Workers
		hibernated = v1beta1helper.HibernationIsEnabled(cluster.Shoot)
	)
	for i := range pools {
		for name, part := range spread(&pools[i], profile, region) {
			machineType := helper.FindMachineType(profile, pools[i].Machine.Type, name)
			if machineType == nil {
				continue
			}
			demand := platform.Demand{
				Pool:            pools[i].Name,
				Path:            poolsPath.Index(i),
				MachineTypeName: pools[i].Machine.Type,
				MachineType:     machineType,
				Capacity:        capacity(cluster, machineType, pools[i].Machine.Type),
				Image:           image(cluster, profile, &pools[i], name),
				Architecture:    architecture(&pools[i]),
				Settings:        part.settings,
				Zones:           part.zones,
			}
			for j := range demand.Zones {
				zone := &demand.Zones[j]
				zone.Maximum = max(zone.Minimum, zone.Maximum)
				if hibernated {
					zone.Minimum = 0
				}
				demand.Minimum += zone.Minimum
				demand.Maximum += zone.Maximum
			}
			addVolumes(&demand, &pools[i], part.volumes, profile, name)
			result[name] = append(result[name], demand)
		}
	}
	return result
}

// part is the part of a pool on one site.
type part struct {
	zones    []platform.ZoneDemand
	settings v1alpha1.WorkerSite
	// volumes are the settings of the pool's data volumes.
	volumes []v1alpha1.WorkerDataVolume
}

// spread distributes the numbers of the pool over its zones like the Worker controller, and returns the parts by name of the site.
func spread(pool *gardencorev1beta1.Worker, profile *v1alpha1.CloudProfileConfig, region string) map[string]*part {
	result := map[string]*part{}
	for i, zone := range pool.Zones {
		s, _ := helper.FindZone(profile, region, zone)
		if s == nil {
			continue
		}
		if result[s.Name] == nil {
			result[s.Name] = &part{}
		}
		result[s.Name].zones = append(result[s.Name].zones, platform.ZoneDemand{
			Name:    zone,
			Minimum: share(i, pool.Minimum, len(pool.Zones)),
			Maximum: share(i, pool.Maximum, len(pool.Zones)),
		})
	}

	config, err := codec.Decode[v1alpha1.WorkerConfig](pool.ProviderConfig)
	if err != nil {
		return result
	}
	for _, part := range result {
		part.volumes = config.DataVolumes
	}
	for _, s := range config.Sites {
		part, ok := result[s.Name]
		if !ok {
			continue
		}
		part.settings = s
		for i := range part.zones {
			if s.Minimum != nil {
				part.zones[i].Minimum = share(i, *s.Minimum, len(part.zones))
			}
			if s.Maximum != nil {
				part.zones[i].Maximum = share(i, *s.Maximum, len(part.zones))
			}
		}
	}
	return result
}

func share(index int, total int32, zones int) int32 {
	return worker.DistributeOverZones(int32(index), total, int32(zones)) // #nosec G115 -- a pool has few zones.
}

// capacity returns the capacity of the machine type on the site, as the Worker controller does.
func capacity(cluster *extensionscontroller.Cluster, machineType *v1alpha1.SiteMachineType, name string) corev1.ResourceList {
	result := corev1.ResourceList{}
	if cluster.CloudProfile != nil {
		if t := v1beta1helper.FindMachineTypeByName(cluster.CloudProfile.Spec.MachineTypes, name); t != nil {
			result = corev1.ResourceList{corev1.ResourceCPU: t.CPU, corev1.ResourceMemory: t.Memory, helper.ResourceGPU: t.GPU}
		}
	}
	maps.Copy(result, machineType.Capacity)
	return result
}

func architecture(pool *gardencorev1beta1.Worker) string {
	return ptr.Deref(pool.Machine.Architecture, v1beta1constants.ArchitectureAMD64)
}

// image returns the pool's machine image on the site, nil if the CloudProfile does not have it.
func image(cluster *extensionscontroller.Cluster, profile *v1alpha1.CloudProfileConfig, pool *gardencorev1beta1.Worker,
	siteName string) *v1alpha1.SiteMachineImage {
	if cluster.CloudProfile == nil || pool.Machine.Image == nil {
		return nil
	}
	capabilities, definitions := helper.Capabilities(cluster.CloudProfile, pool.Machine.Type, architecture(pool))
	found := helper.FindMachineImage(helper.MachineImageRequest{
		Name: pool.Machine.Image.Name, Version: ptr.Deref(pool.Machine.Image.Version, ""), Site: siteName,
		Capabilities: capabilities, Definitions: definitions,
	}, profile.MachineImages)
	if found == nil {
		return nil
	}
	return found.Site
}

// addVolumes adds the root volume, if the pool specifies its type, and the data volumes.
func addVolumes(demand *platform.Demand, pool *gardencorev1beta1.Worker, settings []v1alpha1.WorkerDataVolume,
	profile *v1alpha1.CloudProfileConfig, siteName string) {
	if pool.Volume != nil && pool.Volume.Type != nil {
		demand.VolumeType = helper.FindVolumeType(profile, *pool.Volume.Type, siteName)
	}
	if demand.VolumeType != nil {
		if size, err := worker.DiskSize(pool.Volume.VolumeSize); err == nil {
			demand.VolumeSize = size
			demand.VolumeSizes = append(demand.VolumeSizes, size)
		}
	}
	for _, volume := range pool.DataVolumes {
		size, err := worker.DiskSize(volume.VolumeSize)
		if err != nil {
			continue
		}
		data := platform.DataVolume{Name: volume.Name, Size: size, Settings: helper.DataVolumeSettings(settings, volume.Name, siteName)}
		if volume.Type != nil {
			data.Type = helper.FindVolumeType(profile, *volume.Type, siteName)
		}
		demand.DataVolumes = append(demand.DataVolumes, data)
		demand.VolumeSizes = append(demand.VolumeSizes, size)
	}
}

// controlPlaneSite returns the settings for the site in the ControlPlaneConfig, empty ones if there are none or they cannot be decoded,
// which other components report.
func controlPlaneSite(cluster *extensionscontroller.Cluster, siteName string) v1alpha1.ControlPlaneSite {
	config := &v1alpha1.ControlPlaneConfig{}
	if cluster.Shoot != nil {
		if decoded, err := codec.Decode[v1alpha1.ControlPlaneConfig](cluster.Shoot.Spec.Provider.ControlPlaneConfig); err == nil {
			config = decoded
		}
	}
	return config.Site(siteName)
}
