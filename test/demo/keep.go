// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// selection keeps only some sites of the examples.
type selection struct {
	// sites are those that are kept.
	sites []string
	// zones are the sites of all zones.
	zones map[string]string
	// classes are the sites of all storage classes.
	classes map[string]string
	// nodes are the networks of nodes of sites that have others than in example/.
	nodes map[string][]string
}

// newSelection reads the zones and storage classes of the sites.
func newSelection(profile *v1alpha1.CloudProfileConfig, sites []string) selection {
	s := selection{sites: sites, zones: map[string]string{}, classes: map[string]string{}}
	for _, site := range profile.Sites {
		for _, zone := range site.Zones {
			s.zones[zone.Name] = site.Name
		}
		for _, class := range site.StorageClasses {
			s.classes[class.Name] = site.Name
		}
	}
	return s
}

func (s selection) keeps(site string) bool {
	return slices.Contains(s.sites, site)
}

// cluster keeps the sites in the Cluster's Shoot.
func (s selection) cluster(cluster *extensionsv1alpha1.Cluster) error {
	shoot := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, shoot); err != nil {
		return err
	}
	provider := &shoot.Spec.Provider
	if err := s.infrastructureConfig(&provider.InfrastructureConfig); err != nil {
		return err
	}
	if err := s.controlPlaneConfig(&provider.ControlPlaneConfig); err != nil {
		return err
	}
	var workers []gardencorev1beta1.Worker
	for _, worker := range provider.Workers {
		kept, err := s.pool(worker.Zones, worker.ProviderConfig, worker.Maximum)
		if err != nil {
			return fmt.Errorf("pool %s: %w", worker.Name, err)
		}
		if len(kept.zones) > 0 {
			worker.Zones, worker.Minimum, worker.Maximum, worker.ProviderConfig = kept.zones, kept.minimum, kept.maximum, kept.config
			workers = append(workers, worker)
		}
	}
	provider.Workers = workers
	content, err := json.Marshal(shoot)
	cluster.Spec.Shoot.Raw = content
	return err
}

// infrastructure keeps the sites in the Infrastructure.
func (s selection) infrastructure(infrastructure *extensionsv1alpha1.Infrastructure) error {
	return s.infrastructureConfig(&infrastructure.Spec.ProviderConfig)
}

// controlPlane lets the default site of the ControlPlane be one that is kept.
func (s selection) controlPlane(controlPlane *extensionsv1alpha1.ControlPlane) error {
	return s.controlPlaneConfig(&controlPlane.Spec.ProviderConfig)
}

func (s selection) controlPlaneConfig(raw **runtime.RawExtension) error {
	config, err := codec.Decode[v1alpha1.ControlPlaneConfig](*raw)
	if err != nil {
		return err
	}
	config.DefaultSite = s.defaultSite(config.DefaultSite)
	*raw, err = codec.Encode(config)
	return err
}

// defaultSite is the site that is wanted, or the first that is kept if that is not.
func (s selection) defaultSite(wanted string) string {
	if s.keeps(wanted) {
		return wanted
	}
	return s.sites[0]
}

// worker keeps the zones of the sites in the Worker's pools, and the pools that have any.
func (s selection) worker(worker *extensionsv1alpha1.Worker) error {
	var pools []extensionsv1alpha1.WorkerPool
	for _, pool := range worker.Spec.Pools {
		kept, err := s.pool(pool.Zones, pool.ProviderConfig, pool.Maximum)
		if err != nil {
			return fmt.Errorf("pool %s: %w", pool.Name, err)
		}
		if len(kept.zones) > 0 {
			pool.Zones, pool.Minimum, pool.Maximum, pool.ProviderConfig = kept.zones, kept.minimum, kept.maximum, kept.config
			pools = append(pools, pool)
		}
	}
	worker.Spec.Pools = pools
	return nil
}

func (s selection) infrastructureConfig(raw **runtime.RawExtension) error {
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](*raw)
	if err != nil {
		return err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(site v1alpha1.InfrastructureSite) bool { return !s.keeps(site.Name) })
	for i := range config.Sites {
		if nodes, ok := s.nodes[config.Sites[i].Name]; ok {
			config.Sites[i].Nodes = nodes
		}
	}
	*raw, err = codec.Encode(config)
	return err
}

// keptPool is what is kept of a pool.
type keptPool struct {
	zones            []string
	minimum, maximum int32
	config           *runtime.RawExtension
}

// pool keeps the zones of a pool and the settings of their sites. A pool whose sites have no minima gets one machine in each zone,
// and two at most.
func (s selection) pool(zones []string, raw *runtime.RawExtension, maximum int32) (keptPool, error) {
	kept := keptPool{config: raw}
	for _, zone := range zones {
		if s.keeps(s.zones[zone]) {
			kept.zones = append(kept.zones, zone)
		}
	}
	kept.minimum = int32(len(kept.zones)) // #nosec G115 -- a pool has few zones
	kept.maximum = 2 * kept.minimum
	if raw == nil {
		return kept, nil
	}
	config, err := codec.Decode[v1alpha1.WorkerConfig](raw)
	if err != nil {
		return kept, err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(site v1alpha1.WorkerSite) bool { return !s.keeps(site.Name) })
	if minimum, ok := minimumOf(config); ok {
		kept.minimum, kept.maximum = minimum, maximum
	}
	kept.config, err = codec.Encode(config)
	return kept, err
}

// minimumOf is the sum of the sites' minima, if they have any.
func minimumOf(config *v1alpha1.WorkerConfig) (sum int32, ok bool) {
	for _, site := range config.Sites {
		if site.Minimum != nil {
			sum, ok = sum+*site.Minimum, true
		}
	}
	return sum, ok
}
