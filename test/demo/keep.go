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
}

// newSelection reads the zones of the sites.
func newSelection(profile *v1alpha1.CloudProfileConfig, sites []string) selection {
	s := selection{sites: sites, zones: map[string]string{}}
	for _, site := range profile.Sites {
		for _, zone := range site.Zones {
			s.zones[zone.Name] = site.Name
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
	controlPlane, err := codec.Decode[v1alpha1.ControlPlaneConfig](provider.ControlPlaneConfig)
	if err != nil {
		return err
	}
	if !s.keeps(controlPlane.DefaultSite) {
		controlPlane.DefaultSite = s.sites[0]
	}
	if provider.ControlPlaneConfig, err = codec.Encode(controlPlane); err != nil {
		return err
	}
	var workers []gardencorev1beta1.Worker
	for _, worker := range provider.Workers {
		worker.Zones, worker.Minimum, worker.Maximum = s.pool(worker.Zones)
		if len(worker.Zones) == 0 {
			continue
		}
		if err := s.workerConfig(&worker.ProviderConfig); err != nil {
			return fmt.Errorf("pool %s: %w", worker.Name, err)
		}
		workers = append(workers, worker)
	}
	provider.Workers = workers
	cluster.Spec.Shoot.Raw, err = json.Marshal(shoot)
	return err
}

// infrastructure keeps the sites in the Infrastructure.
func (s selection) infrastructure(infrastructure *extensionsv1alpha1.Infrastructure) error {
	return s.infrastructureConfig(&infrastructure.Spec.ProviderConfig)
}

// worker keeps the zones of the sites in the Worker's pools, and the pools that have any.
func (s selection) worker(worker *extensionsv1alpha1.Worker) error {
	var pools []extensionsv1alpha1.WorkerPool
	for _, pool := range worker.Spec.Pools {
		pool.Zones, pool.Minimum, pool.Maximum = s.pool(pool.Zones)
		if len(pool.Zones) == 0 {
			continue
		}
		if err := s.workerConfig(&pool.ProviderConfig); err != nil {
			return fmt.Errorf("pool %s: %w", pool.Name, err)
		}
		pools = append(pools, pool)
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
	*raw, err = codec.Encode(config)
	return err
}

func (s selection) workerConfig(raw **runtime.RawExtension) error {
	if *raw == nil {
		return nil
	}
	config, err := codec.Decode[v1alpha1.WorkerConfig](*raw)
	if err != nil {
		return err
	}
	config.Sites = slices.DeleteFunc(config.Sites, func(site v1alpha1.WorkerSite) bool { return !s.keeps(site.Name) })
	*raw, err = codec.Encode(config)
	return err
}

// pool returns the zones of a pool that are kept, with one machine in each, and two at most.
func (s selection) pool(zones []string) (kept []string, minimum, maximum int32) {
	for _, zone := range zones {
		if s.keeps(s.zones[zone]) {
			kept = append(kept, zone)
		}
	}
	minimum = int32(len(kept)) // #nosec G115 -- a pool has few zones
	return kept, minimum, 2 * minimum
}
