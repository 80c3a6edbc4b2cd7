// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// Hybrid is the name of the shoot on all platforms, Patient that of one whose hosts are slow.
const Hybrid, Patient = "hybrid", "patient"

// Pool is the name of the pool on all sites, SlowPool that of the pool with slow hosts, AlonePool that of the pool on the OpenStack site
// alone.
const Pool, SlowPool, AlonePool = "mixed", "slow", "alone"

// zones are the zones of the pool on all sites.
var zones = map[string]string{Cloud: "cloud-a", VC: "vc-1", Racks: "rack-1", Hall: "hall-1"}

// Shoot is a shoot of the lab, whether it exists or not.
type Shoot struct {
	lab  *Lab
	name string
	// seed has its control plane.
	seed *garden.Seed
}

// ShootIn is the shoot with a name whose control plane is in a seed at first.
func (l *Lab) ShootIn(seed *garden.Seed, name string) *Shoot {
	return &Shoot{lab: l, name: name, seed: seed}
}

// Shoot is the shoot with a name, which is scheduled to the first seed.
func (l *Lab) Shoot(name string) *Shoot {
	return &Shoot{lab: l, name: name, seed: l.Seed}
}

// TechnicalID is its namespace in the seed and the prefix of what it has on the sites.
func (s *Shoot) TechnicalID() string {
	return technicalID(s.name)
}

func technicalID(shoot string) string {
	return "shoot--" + garden.Project + "--" + shoot
}

// Object is the shoot of the example with some of its sites, for its creation.
func (s *Shoot) Object(sites ...string) (*gardencorev1beta1.Shoot, error) {
	shoots, err := garden.Example[*gardencorev1beta1.Shoot](folder + "40-shoot.yaml")
	if err != nil {
		return nil, err
	}
	shoot := shoots[0]
	shoot.Name, shoot.Namespace, shoot.Spec.CredentialsBindingName = s.name, garden.Namespace, new("hybrid")
	// The time of its maintenance may be now: another image would roll its nodes.
	shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{
		AutoUpdate: &gardencorev1beta1.MaintenanceAutoUpdate{MachineImageVersion: new(false)},
	}
	return shoot, SetSites(shoot, sites...)
}

// Slow is a shoot with a pool on slow hosts beside one that is as fast as all others.
func (s *Shoot) Slow() (*gardencorev1beta1.Shoot, error) {
	shoot, err := s.Object(Racks)
	if err != nil {
		return nil, err
	}
	config, err := codec.Decode[v1alpha1.ControlPlaneConfig](shoot.Spec.Provider.ControlPlaneConfig)
	if err != nil {
		return nil, err
	}
	config.DefaultSite = Racks
	if shoot.Spec.Provider.ControlPlaneConfig, err = codec.Encode(config); err != nil {
		return nil, err
	}
	slow := PoolOf(shoot, Pool).DeepCopy()
	slow.Name, slow.Machine.Type = SlowPool, slowType
	shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, *slow)
	return shoot, nil
}

// PoolOf is the pool of the shoot with a name, which must exist.
func PoolOf(shoot *gardencorev1beta1.Shoot, name string) *gardencorev1beta1.Worker {
	workers := shoot.Spec.Provider.Workers
	i := slices.IndexFunc(workers, func(w gardencorev1beta1.Worker) bool { return w.Name == name })
	return &workers[i]
}

// AddAlone gives the shoot a pool with a machine on the OpenStack site alone.
func AddAlone(shoot *gardencorev1beta1.Shoot) {
	alone := PoolOf(shoot, Pool).DeepCopy()
	alone.Name, alone.Zones, alone.Minimum, alone.Maximum = AlonePool, []string{zones[Cloud]}, 1, 3
	shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, *alone)
}

// Overlap gives the second site of a shoot the nodes of the first one, which cannot work.
func Overlap(shoot *gardencorev1beta1.Shoot) error {
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	if err != nil {
		return err
	}
	config.Sites[1].Nodes = config.Sites[0].Nodes
	shoot.Spec.Provider.InfrastructureConfig, err = codec.Encode(config)
	return err
}

// SetSites lets a shoot have some sites of the example, and the pool on all sites a machine on each. The other pool is there if both
// of its sites are.
func SetSites(shoot *gardencorev1beta1.Shoot, sites ...string) error {
	shoots, err := garden.Example[*gardencorev1beta1.Shoot](folder + "40-shoot.yaml")
	if err != nil {
		return err
	}
	full := shoots[0].Spec.Provider
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](full.InfrastructureConfig)
	if err != nil {
		return err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(s v1alpha1.InfrastructureSite) bool { return !slices.Contains(sites, s.Name) })
	if shoot.Spec.Provider.InfrastructureConfig, err = codec.Encode(config); err != nil {
		return err
	}
	var workers []gardencorev1beta1.Worker
	for _, worker := range full.Workers {
		worker.Zones = slices.DeleteFunc(worker.Zones, func(zone string) bool {
			return !slices.ContainsFunc(sites, func(site string) bool { return zones[site] == zone })
		})
		if worker.Name == Pool {
			worker.Minimum, worker.Maximum = int32(len(worker.Zones)), 2*int32(len(worker.Zones)) // #nosec G115 -- a pool has few zones
		} else if len(worker.Zones) < 2 {
			continue
		}
		workers = append(workers, worker)
	}
	if len(workers) == 0 {
		return errors.New("no pool is left")
	}
	shoot.Spec.Provider.Workers = workers
	return nil
}
