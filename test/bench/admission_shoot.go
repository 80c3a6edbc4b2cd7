// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// admissionSites and admissionPools are how large the Shoot is.
	admissionSites = 10
	admissionPools = 50
	// zonesPerPool is over how many sites each pool goes.
	zonesPerPool = 3
)

func admissionSite(i int) string { return fmt.Sprintf("site-%d", i%admissionSites) }

func admissionZone(i int) string { return admissionSite(i) + "-a" }

// largeProfile returns the CloudProfile of the examples with more sites, all of which are like its first one, and many machine types.
func largeProfile() (*gardencorev1beta1.CloudProfile, error) {
	profiles, err := example[gardencorev1beta1.CloudProfile](shoot{namespace: exampleShoot, authURL: exampleAuthURL}, "20-cloudprofile.yaml")
	if err != nil {
		return nil, err
	}
	profile := profiles[0]
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return nil, err
	}

	first := config.Sites[0]
	config.Sites, profile.Spec.Regions[0].Zones = nil, nil
	for i := range admissionSites {
		site := *first.DeepCopy()
		site.Name, site.Zones = admissionSite(i), site.Zones[:1]
		site.Zones[0].Name, site.StorageClasses[0].Name = admissionZone(i), site.Name
		config.Sites = append(config.Sites, site)
		profile.Spec.Regions[0].Zones = append(profile.Spec.Regions[0].Zones, gardencorev1beta1.AvailabilityZone{Name: admissionZone(i)})
	}
	for i := range config.MachineTypes {
		config.MachineTypes[i].Sites = onAllSites(config.MachineTypes[i].Sites[0],
			func(s *v1alpha1.SiteMachineType, name string) { s.Name = name })
	}
	for i := range config.VolumeTypes {
		config.VolumeTypes[i].Sites = onAllSites(config.VolumeTypes[i].Sites[0], func(s *v1alpha1.SiteVolumeType, name string) { s.Name = name })
	}
	for i := range config.MachineImages {
		for j := range config.MachineImages[i].Versions {
			flavor := &config.MachineImages[i].Versions[j].CapabilityFlavors[0]
			flavor.Sites = onAllSites(flavor.Sites[0], func(s *v1alpha1.SiteMachineImage, name string) { s.Name = name })
		}
	}
	for i := range machineTypeCount {
		core, ours := *profile.Spec.MachineTypes[0].DeepCopy(), *config.MachineTypes[0].DeepCopy()
		core.Name = fmt.Sprintf("type-%d", i)
		ours.Name = core.Name
		profile.Spec.MachineTypes, config.MachineTypes = append(profile.Spec.MachineTypes, core), append(config.MachineTypes, ours)
	}
	profile.Spec.ProviderConfig, err = codec.Encode(config)
	return profile, err
}

func onAllSites[T any](entry T, rename func(*T, string)) []T {
	entries := make([]T, admissionSites)
	for i := range entries {
		entries[i] = entry
		rename(&entries[i], admissionSite(i))
	}
	return entries
}

// largeShoot returns the Shoot of the examples with a subnet on each site, and pools over several of them.
func largeShoot() (*gardencorev1beta1.Shoot, error) {
	shoots, err := example[gardencorev1beta1.Shoot](shoot{namespace: exampleShoot, authURL: exampleAuthURL}, "40-shoot.yaml")
	if err != nil {
		return nil, err
	}
	result := shoots[0]
	provider := &result.Spec.Provider
	infrastructure, err := codec.Decode[v1alpha1.InfrastructureConfig](provider.InfrastructureConfig)
	if err != nil {
		return nil, err
	}
	infrastructure.Sites = onAllSites(infrastructure.Sites[0], func(s *v1alpha1.InfrastructureSite, name string) { s.Name = name })
	for i := range infrastructure.Sites {
		infrastructure.Sites[i].Nodes = []string{fmt.Sprintf("10.250.%d.0/22", 4*i)}
	}
	if provider.InfrastructureConfig, err = codec.Encode(infrastructure); err != nil {
		return nil, err
	}
	if provider.ControlPlaneConfig, err = codec.Encode(&v1alpha1.ControlPlaneConfig{DefaultSite: admissionSite(0)}); err != nil {
		return nil, err
	}

	pool := provider.Workers[0]
	provider.Workers = nil
	for i := range admissionPools {
		next := *pool.DeepCopy()
		next.Name, next.Zones = fmt.Sprintf("pool-%d", i), nil
		config := &v1alpha1.WorkerConfig{}
		for j := range zonesPerPool {
			next.Zones = append(next.Zones, admissionZone(i+j))
			config.Sites = append(config.Sites, v1alpha1.WorkerSite{Name: admissionSite(i + j), Priority: new(int32(j))})
		}
		if next.ProviderConfig, err = codec.Encode(config); err != nil {
			return nil, err
		}
		provider.Workers = append(provider.Workers, next)
	}
	return result, nil
}

// largeCredentials are those of all sites.
func largeCredentials() map[string][]byte {
	data := map[string][]byte{}
	for i := range admissionSites {
		for key, value := range map[string]string{"domainName": "Default", "tenantName": "t", "username": "u", "password": "p"} {
			data[admissionSite(i)+"."+key] = []byte(value)
		}
	}
	return data
}
