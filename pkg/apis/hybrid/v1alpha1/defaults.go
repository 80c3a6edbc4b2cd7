// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// DefaultRequestTimeout limits one request to a site's API.
	DefaultRequestTimeout = 60 * time.Second
	// DefaultQuarantineShare is the percentage of machines that must be lost.
	DefaultQuarantineShare int32 = 60
	// DefaultQuarantineMinimumMachines is the number of lost machines from which on the share alone is decisive.
	DefaultQuarantineMinimumMachines int32 = 2
	// DefaultQuarantineWindow is the maximum time between the first and the last loss.
	DefaultQuarantineWindow = 5 * time.Minute
	// DefaultQuarantineMaximumDuration is the maximum duration of a quarantine.
	DefaultQuarantineMaximumDuration = 24 * time.Hour
	// DefaultOpenStackEndpointType is the catalog interface that is used.
	DefaultOpenStackEndpointType = "public"
	// DefaultOpenStackLoadBalancerProvider is the Octavia provider.
	DefaultOpenStackLoadBalancerProvider = "amphora"
	// DefaultMetalCleaning says what is wiped when a host is released.
	DefaultMetalCleaning = MetalCleaningMetadata
	// DefaultMetalNodeName says what a node is named after.
	DefaultMetalNodeName = MetalNodeNameMachine
	// DefaultMetalVolumesPath is the folder on hosts that local volumes are in.
	DefaultMetalVolumesPath = "/var/lib/local-volumes"
	// DefaultMetalChecksumType is the algorithm of an image's checksum.
	DefaultMetalChecksumType = "sha256"
	// DefaultMetalImageFormat is the format of an image.
	DefaultMetalImageFormat = "raw"
)

func addDefaultingFuncs(scheme *runtime.Scheme) error {
	scheme.AddTypeDefaultingFunc(&CloudControllerManagerConfiguration{}, func(obj any) {
		SetCloudControllerManagerConfigurationDefaults(obj.(*CloudControllerManagerConfiguration))
	})
	scheme.AddTypeDefaultingFunc(&CloudProfileConfig{}, func(obj any) { SetCloudProfileConfigDefaults(obj.(*CloudProfileConfig)) })
	scheme.AddTypeDefaultingFunc(&InfrastructureConfig{}, func(obj any) { SetInfrastructureConfigDefaults(obj.(*InfrastructureConfig)) })
	scheme.AddTypeDefaultingFunc(&InfrastructureState{}, func(obj any) { SetInfrastructureStateDefaults(obj.(*InfrastructureState)) })
	scheme.AddTypeDefaultingFunc(&MachineProviderSpec{}, func(obj any) { SetMachineProviderSpecDefaults(obj.(*MachineProviderSpec)) })
	scheme.AddTypeDefaultingFunc(&WorkerStatus{}, func(obj any) { SetWorkerStatusDefaults(obj.(*WorkerStatus)) })
	return nil
}

// SetBackupBucketConfigDefaults sets what the operator left out. The region is that of the BackupBucket. Unlike others, these defaults are
// not set when a document is decoded.
func SetBackupBucketConfigDefaults(config *BackupBucketConfig, region string) {
	if config.S3 != nil {
		setIfEmpty(&config.S3.Region, region)
	}
	if config.Swift != nil {
		setIfEmpty(&config.Swift.Region, region)
	}
}

// SetCloudControllerManagerConfigurationDefaults sets what may be missing in configurations of the cloud-controller-manager.
func SetCloudControllerManagerConfigurationDefaults(config *CloudControllerManagerConfiguration) {
	for i := range config.Sites {
		if openStack := config.Sites[i].OpenStack; openStack != nil {
			setOpenStackConnectionDefaults(&openStack.Connection)
			if balancer := openStack.LoadBalancer; balancer != nil {
				setIfEmpty(&balancer.Provider, DefaultOpenStackLoadBalancerProvider)
				setIfEmpty(&balancer.Members, LoadBalancerMembersSite)
			}
		}
		if vSphere := config.Sites[i].VSphere; vSphere != nil {
			setDefault(&vSphere.Connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
		}
		if metal := config.Sites[i].Metal; metal != nil {
			setDefault(&metal.Connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
		}
	}
}

// SetCloudProfileConfigDefaults sets what the operator left out.
func SetCloudProfileConfigDefaults(config *CloudProfileConfig) {
	setBlocksDefaults(config)
	for i := range config.Sites {
		site := &config.Sites[i]
		setDefault(&site.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
		setQuarantineDefaults(site)
		if site.OpenStack != nil {
			setIfEmpty(&site.OpenStack.EndpointType, DefaultOpenStackEndpointType)
		}
		if site.VSphere != nil {
			setVSphereZonesDefaults(site)
		}
		if site.Metal != nil {
			setIfEmpty(&site.Metal.Cleaning, DefaultMetalCleaning)
			setIfEmpty(&site.Metal.NodeName, DefaultMetalNodeName)
		}
		for j := range site.StorageClasses {
			if class := site.StorageClasses[j].Metal; class != nil {
				setIfEmpty(&class.Path, DefaultMetalVolumesPath)
			}
		}
	}
	setMachineImagesDefaults(config.MachineImages)
}

// setBlocksDefaults sets the blocks of the sites' platforms that are left out, as the site says which that is. Those of machine images
// always have required fields.
func setBlocksDefaults(config *CloudProfileConfig) {
	platforms := map[string]Platform{}
	for i := range config.Sites {
		site := &config.Sites[i]
		platform, ok := site.Platform()
		if !ok {
			continue
		}
		platforms[site.Name] = platform
		for j := range site.Zones {
			setBlock(&site.Zones[j], platform)
		}
		for j := range site.StorageClasses {
			setBlock(&site.StorageClasses[j], platform)
		}
	}
	for i := range config.MachineTypes {
		for j := range config.MachineTypes[i].Sites {
			setBlock(&config.MachineTypes[i].Sites[j], platforms[config.MachineTypes[i].Sites[j].Name])
		}
	}
	for i := range config.VolumeTypes {
		for j := range config.VolumeTypes[i].Sites {
			setBlock(&config.VolumeTypes[i].Sites[j], platforms[config.VolumeTypes[i].Sites[j].Name])
		}
	}
}

func setQuarantineDefaults(site *CloudProfileSite) {
	setDefault(&site.Quarantine, Quarantine{})
	setDefault(&site.Quarantine.Share, DefaultQuarantineShare)
	setDefault(&site.Quarantine.MinimumMachines, DefaultQuarantineMinimumMachines)
	setDefault(&site.Quarantine.Window, metav1.Duration{Duration: DefaultQuarantineWindow})
	setDefault(&site.Quarantine.MaximumDuration, metav1.Duration{Duration: DefaultQuarantineMaximumDuration})
}

func setVSphereZonesDefaults(site *CloudProfileSite) {
	for i := range site.Zones {
		zone := site.Zones[i].VSphere
		if zone == nil {
			continue
		}
		setIfEmpty(&zone.Datacenter, site.VSphere.Datacenter)
		if site.VSphere.Topology != nil {
			setIfEmpty(&zone.TopologyTag, site.Zones[i].Name)
		}
	}
}

// SetInfrastructureConfigDefaults sets what the shoot owner left out.
func SetInfrastructureConfigDefaults(config *InfrastructureConfig) {
	if config.Networks.Topology == TopologyStretched && len(config.Networks.Nodes) > 0 {
		if prefix, err := netip.ParsePrefix(config.Networks.Nodes[0]); err == nil {
			setIfEmpty(&config.Networks.Gateway, prefix.Masked().Addr().Next().String())
		}
	}
}

// SetInfrastructureStateDefaults sets what may be missing in states.
func SetInfrastructureStateDefaults(state *InfrastructureState) {
	for i := range state.Sites {
		if openStack := state.Sites[i].OpenStack; openStack != nil {
			setOpenStackConnectionDefaults(&openStack.Connection)
		}
		if vSphere := state.Sites[i].VSphere; vSphere != nil {
			setDefault(&vSphere.Connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
		}
		if metal := state.Sites[i].Metal; metal != nil {
			setDefault(&metal.Connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
			setIfEmpty(&metal.Cleaning, DefaultMetalCleaning)
		}
	}
}

// SetMachineProviderSpecDefaults sets what may be missing in provider specs.
func SetMachineProviderSpecDefaults(spec *MachineProviderSpec) {
	setIfEmpty(&spec.UserDataFormat, UserDataFormatCloudInit)
	if spec.OpenStack != nil {
		setOpenStackConnectionDefaults(&spec.OpenStack.Connection)
	}
	if spec.VSphere != nil {
		setDefault(&spec.VSphere.Connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
	}
	if metal := spec.Metal; metal != nil {
		setDefault(&metal.Connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
		setIfEmpty(&metal.Cleaning, DefaultMetalCleaning)
		setIfEmpty(&metal.NodeName, DefaultMetalNodeName)
	}
}

// SetWorkerStatusDefaults sets what may be missing in worker statuses.
func SetWorkerStatusDefaults(status *WorkerStatus) {
	setMachineImagesDefaults(status.MachineImages)
}

func setMachineImagesDefaults(images []MachineImage) {
	for i := range images {
		for j := range images[i].Versions {
			for k := range images[i].Versions[j].CapabilityFlavors {
				sites := images[i].Versions[j].CapabilityFlavors[k].Sites
				for l := range sites {
					setMachineImageDefaults(&sites[l])
				}
			}
		}
	}
}

func setMachineImageDefaults(image *SiteMachineImage) {
	setDefault(&image.UserData, UserData{})
	setIfEmpty(&image.UserData.Format, UserDataFormatCloudInit)
	if image.Metal != nil && image.Metal.OSRelease == nil {
		setIfEmpty(&image.Metal.ChecksumType, DefaultMetalChecksumType)
		setIfEmpty(&image.Metal.Format, DefaultMetalImageFormat)
	}
}

func setOpenStackConnectionDefaults(connection *OpenStackConnection) {
	setIfEmpty(&connection.EndpointType, DefaultOpenStackEndpointType)
	setDefault(&connection.RequestTimeout, metav1.Duration{Duration: DefaultRequestTimeout})
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setIfEmpty[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}
