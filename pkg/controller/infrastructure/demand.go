// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// demands says what the shoot's pools may ask of each site, by the name of the site. What cannot be read or is not known to
// the CloudProfile is left out: others report it.
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
		for name, bounds := range spread(&pools[i], profile, region) {
			machineType := helper.FindMachineType(profile, pools[i].Machine.Type, name)
			if machineType == nil {
				continue
			}
			demand := platform.Demand{
				Pool:        pools[i].Name,
				Path:        field.NewPath("spec", "provider", "workers").Index(i),
				MachineType: machineType,
				Minimum:     bounds.minimum,
				Maximum:     max(bounds.minimum, bounds.maximum),
			}
			if hibernated {
				demand.Minimum = 0
			}
			addVolumes(&demand, &pools[i], profile, name)
			result[name] = append(result[name], demand)
		}
	}
	return result
}

type bounds struct{ minimum, maximum int32 }

// spread splits the numbers of the pool over its sites as the Worker controller does.
func spread(pool *gardencorev1beta1.Worker, profile *v1alpha1.CloudProfileConfig, region string) map[string]bounds {
	var (
		result = map[string]bounds{}
		zones  = int32(len(pool.Zones)) // #nosec G115 -- a pool has few zones.
	)
	for i, zone := range pool.Zones {
		if s, _ := helper.FindZone(profile, region, zone); s != nil {
			part := result[s.Name]
			part.minimum += worker.DistributeOverZones(int32(i), pool.Minimum, zones) // #nosec G115 -- a pool has few zones.
			part.maximum += worker.DistributeOverZones(int32(i), pool.Maximum, zones) // #nosec G115 -- a pool has few zones.
			result[s.Name] = part
		}
	}

	config, err := codec.Decode[v1alpha1.WorkerConfig](pool.ProviderConfig)
	if err != nil {
		return result
	}
	for _, s := range config.Sites {
		part, ok := result[s.Name]
		if !ok {
			continue
		}
		if s.Minimum != nil {
			part.minimum = *s.Minimum
		}
		if s.Maximum != nil {
			part.maximum = *s.Maximum
		}
		result[s.Name] = part
	}
	return result
}

// addVolumes adds the root volume, if the pool asks for one by its type, and the data volumes.
func addVolumes(demand *platform.Demand, pool *gardencorev1beta1.Worker, profile *v1alpha1.CloudProfileConfig, siteName string) {
	if pool.Volume != nil && pool.Volume.Type != nil {
		demand.VolumeType = helper.FindVolumeType(profile, *pool.Volume.Type, siteName)
	}
	if demand.VolumeType != nil {
		addVolume(demand, pool.Volume.VolumeSize)
	}
	for _, volume := range pool.DataVolumes {
		addVolume(demand, volume.VolumeSize)
	}
}

func addVolume(demand *platform.Demand, size string) {
	if gib, err := worker.DiskSize(size); err == nil {
		demand.VolumeSizes = append(demand.VolumeSizes, gib)
	}
}
