// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Discovered is the name of the CloudProfile of what the sites offer, and of a shoot with that CloudProfile.
const Discovered = "discovered"

// vmNetwork is the network that all datacenters of the vCenter have.
const vmNetwork = "VM Network"

// Discover creates a CloudProfile of what the sites offer. Of the existing one it takes what no site knows: the connections of the sites,
// the versions of Kubernetes, and the images of bare metal.
func (l *Lab) Discover(ctx context.Context) error {
	existing := &gardencorev1beta1.CloudProfile{}
	if err := l.Client.Get(ctx, client.ObjectKey{Name: "hybrid"}, existing); err != nil {
		return err
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](existing.Spec.ProviderConfig)
	if err != nil {
		return err
	}
	credentials := map[string][]byte{}
	for key, value := range l.secretData() {
		credentials[key] = []byte(value)
	}
	var sites []site.Site
	for i := range config.Sites {
		profile := &config.Sites[i]
		platform, _ := profile.Platform()
		profile.Zones, profile.StorageClasses = nil, nil
		sites = append(sites, site.Site{Name: profile.Name, Platform: platform, Profile: profile,
			Credentials: site.CredentialsOf(profile.Name, credentials)})
	}
	found := discovery.OfSites(ctx, extension.Discoveries(), sites, discovery.Timeout)
	for i := range found {
		if found[i].Err != nil {
			return found[i].Err
		}
	}
	base := &gardencorev1beta1.CloudProfile{ObjectMeta: metav1.ObjectMeta{Name: Discovered}}
	base.Spec.Kubernetes.Versions = existing.Spec.Kubernetes.Versions
	profile, err := discovery.Propose(base, found)
	if err != nil {
		return err
	}
	if err := addMetalImages(profile, config); err != nil {
		return err
	}
	return l.Client.Create(ctx, profile)
}

// addMetalImages adds the images of the bare-metal sites of another CloudProfile, as an inventory has none.
func addMetalImages(profile *gardencorev1beta1.CloudProfile, from *v1alpha1.CloudProfileConfig) error {
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return err
	}
	for _, image := range from.MachineImages {
		for _, version := range image.Versions {
			for _, flavor := range version.CapabilityFlavors {
				for i := range flavor.Sites {
					if site := &flavor.Sites[i]; site.Metal != nil {
						config.MachineImages = helper.AddMachineImage(config.MachineImages, image.Name, version.Version,
							helper.MachineImage{Capabilities: flavor.Capabilities, Site: site})
					}
				}
			}
		}
	}
	profile.Spec.ProviderConfig, err = codec.Encode(config)
	return err
}

// Discovered is a shoot on all sites with the CloudProfile of what they offer: a pool on each, as they have no machine type in common.
func (s *Shoot) Discovered(ctx context.Context) (*gardencorev1beta1.Shoot, error) {
	profile := &gardencorev1beta1.CloudProfile{}
	if err := s.lab.Client.Get(ctx, client.ObjectKey{Name: Discovered}, profile); err != nil {
		return nil, err
	}
	offered, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return nil, err
	}
	shoot, err := s.Object(Cloud, VC, Racks, Hall)
	if err != nil {
		return nil, err
	}
	shoot.Spec.CloudProfile.Name = Discovered
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	if err != nil {
		return nil, err
	}
	pool := PoolOf(shoot, Pool).DeepCopy()
	shoot.Spec.Provider.Workers = nil
	for i := range config.Sites {
		of := helper.FindSite(offered, config.Sites[i].Name)
		machineType := smallest(&profile.Spec, offered, of.Name)
		if machineType == "" {
			return nil, fmt.Errorf("site %s has no machine type", of.Name)
		}
		worker := pool.DeepCopy()
		worker.Name, worker.Machine.Type, worker.Zones, worker.Minimum, worker.Maximum = of.Name, machineType, []string{of.Zones[0].Name}, 1, 1
		shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, *worker)
		if of.VSphere != nil {
			config.Sites[i].VSphere = &v1alpha1.VSphereInfrastructure{Network: vmNetwork}
		}
	}
	shoot.Spec.Provider.InfrastructureConfig, err = codec.Encode(config)
	return shoot, err
}

// smallest returns the machine type with the least memory that a site has, empty if it has none.
func smallest(spec *gardencorev1beta1.CloudProfileSpec, config *v1alpha1.CloudProfileConfig, site string) string {
	var found *gardencorev1beta1.MachineType
	for i := range spec.MachineTypes {
		machineType := &spec.MachineTypes[i]
		if helper.FindMachineType(config, machineType.Name, site) != nil && (found == nil || machineType.Memory.Cmp(found.Memory) < 0) {
			found = machineType
		}
	}
	if found == nil {
		return ""
	}
	return found.Name
}
