// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// machineChecks are the checks of the flavors and images of machines.
type machineChecks struct{ *validation }

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// extraSpecsMicroversion is the compute API version that lists flavors with their extra specs.
const extraSpecsMicroversion = "2.61"

// listFlavors lists all flavors, with their extra specs if a pool wants GPUs.
func (v machineChecks) listFlavors(ctx context.Context) ([]flavors.Flavor, error) {
	compute := *v.compute
	if slices.ContainsFunc(v.demands, wantsGPUs) {
		compute.Microversion = extraSpecsMicroversion
	}
	return client.List(ctx, flavors.ListDetail(&compute, flavors.ListOpts{}), flavors.ExtractFlavors)
}

// flavorOf returns the flavor of the pool's machine type, nil if there is none.
func flavorOf(demand *platform.Demand, known []flavors.Flavor) *flavors.Flavor {
	if demand.MachineType == nil || demand.MachineType.OpenStack == nil {
		return nil
	}
	return lists.Find(known, func(f *flavors.Flavor) bool { return f.Name == demand.MachineType.OpenStack.Flavor })
}

// eachFlavor calls check for each pool and its flavor, which is nil if it does not exist.
func (v machineChecks) eachFlavor(check func(*platform.Demand, *flavors.Flavor)) error {
	if len(v.demands) == 0 {
		return nil
	}
	known, err := v.flavors()
	if err != nil {
		return err
	}
	for i := range v.demands {
		if demand := &v.demands[i]; demand.MachineType != nil && demand.MachineType.OpenStack != nil {
			check(demand, flavorOf(demand, known))
		}
	}
	return nil
}

// flavorsExist checks that the flavors of the machine types exist.
func (v machineChecks) flavorsExist(_ context.Context, result *platform.Result) error {
	return v.eachFlavor(func(demand *platform.Demand, flavor *flavors.Flavor) {
		if flavor == nil {
			result.Invalid(demand.Path.Child("machine", "type"), demand.MachineType.OpenStack.Flavor,
				"no flavor of this name exists or is visible to the credentials")
		}
	})
}

// flavorCapacity compares the flavors with the machine types of the CloudProfile. The cluster-autoscaler relies on those.
func (v machineChecks) flavorCapacity(_ context.Context, result *platform.Result) error {
	return v.eachFlavor(func(demand *platform.Demand, flavor *flavors.Flavor) {
		if flavor == nil {
			return
		}
		path := demand.Path.Child("machine", "type")
		if cpus := demand.Capacity.Cpu().Value(); cpus > 0 && cpus != int64(flavor.VCPUs) {
			result.Warn(path, "flavor %q has %d CPUs, but the machine type has %d in the CloudProfile", flavor.Name, flavor.VCPUs, cpus)
		}
		if memory := demand.Capacity.Memory().Value(); memory > int64(flavor.RAM)*mebibyte {
			result.Warn(path, "flavor %q has %d MiB of memory, but the machine type has %s in the CloudProfile", flavor.Name, flavor.RAM,
				demand.Capacity.Memory())
		}
	})
}

func wantsGPUs(demand platform.Demand) bool {
	gpus, ok := demand.Capacity[helper.ResourceGPU]
	return ok && gpus.Sign() > 0
}

// flavorGPUs checks that the flavors of machine types with GPUs request devices.
func (v machineChecks) flavorGPUs(_ context.Context, result *platform.Result) error {
	return v.eachFlavor(func(demand *platform.Demand, flavor *flavors.Flavor) {
		if flavor == nil || !wantsGPUs(*demand) {
			return
		}
		for name := range flavor.ExtraSpecs {
			if name == "pci_passthrough:alias" || name == "accel:device_profile" || strings.HasPrefix(name, "resources") {
				return
			}
		}
		result.Warn(demand.Path.Child("machine", "type"),
			"the machine type has GPUs in the CloudProfile, but flavor %q requests no device that is visible to the credentials", flavor.Name)
	})
}

// flavorDisk checks that machines have a root disk.
func (v machineChecks) flavorDisk(_ context.Context, result *platform.Result) error {
	return v.eachFlavor(func(demand *platform.Demand, flavor *flavors.Flavor) {
		if flavor != nil && flavor.Disk == 0 && demand.VolumeSize == 0 {
			result.Warn(demand.Path.Child("volume", "type"),
				"flavor %q has no disk and the pool no type of the root volume; by default, only administrators may create such servers", flavor.Name)
		}
	})
}

// listImages lists the images of the pools.
func (v machineChecks) listImages(ctx context.Context) (map[v1alpha1.OpenStackImage][]images.Image, error) {
	service, err := v.session.Image(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []v1alpha1.OpenStackImage
	for i := range v.demands {
		if image := imageOf(&v.demands[i]); image != nil && !slices.Contains(wanted, *image) {
			wanted = append(wanted, *image)
		}
	}
	found := make([][]images.Image, len(wanted))
	errs := platform.Each(len(wanted), func(i int) (err error) {
		options := images.ListOpts{Name: wanted[i].ImageName}
		if wanted[i].ImageID != "" {
			options = images.ListOpts{ID: "in:" + wanted[i].ImageID}
		}
		found[i], err = client.List(ctx, images.List(service, options), images.ExtractImages)
		return err
	})
	result := map[v1alpha1.OpenStackImage][]images.Image{}
	for i := range wanted {
		result[wanted[i]] = slices.DeleteFunc(found[i], func(image images.Image) bool { return image.Status != images.ImageStatusActive })
	}
	return result, errors.Join(errs...)
}

func imageOf(demand *platform.Demand) *v1alpha1.OpenStackImage {
	if demand.Image == nil {
		return nil
	}
	return demand.Image.OpenStack
}

func (v machineChecks) wantsImages() bool {
	return slices.ContainsFunc(v.demands, func(d platform.Demand) bool { return imageOf(&d) != nil })
}

// imageService checks that the site has the image service if pools need it.
func (v machineChecks) imageService(ctx context.Context, _ *platform.Result) error {
	if !v.wantsImages() {
		return nil
	}
	_, err := v.session.Image(ctx)
	return err
}

// eachImage calls check for each pool with an image, and the active images that match it.
func (v machineChecks) eachImage(check func(demand *platform.Demand, wanted v1alpha1.OpenStackImage, active []images.Image)) error {
	if !v.wantsImages() {
		return nil
	}
	known, err := v.images()
	if err != nil {
		return err
	}
	for i := range v.demands {
		if wanted := imageOf(&v.demands[i]); wanted != nil {
			check(&v.demands[i], *wanted, known[*wanted])
		}
	}
	return nil
}

// imagesExist checks that there is exactly one active image for each pool.
func (v machineChecks) imagesExist(_ context.Context, result *platform.Result) error {
	return v.eachImage(func(demand *platform.Demand, wanted v1alpha1.OpenStackImage, active []images.Image) {
		if len(active) != 1 {
			result.Invalid(demand.Path.Child("machine", "image"), cmp.Or(wanted.ImageID, wanted.ImageName),
				"%d active images with this name or ID are visible to the credentials, want one", len(active))
		}
	})
}

// imageSize checks that the images fit into the memory and root disks of the machines.
func (v machineChecks) imageSize(_ context.Context, result *platform.Result) error {
	if !v.wantsImages() {
		return nil
	}
	known, err := v.flavors()
	if err != nil {
		return err
	}
	return v.eachImage(func(demand *platform.Demand, _ v1alpha1.OpenStackImage, active []images.Image) {
		flavor := flavorOf(demand, known)
		if flavor == nil || len(active) != 1 {
			return
		}
		image, path, disk := &active[0], demand.Path.Child("machine", "image"), int64(cmp.Or(demand.VolumeSize, flavor.Disk))
		if image.MinRAMMegabytes > flavor.RAM {
			result.Invalid(path, image.Name, "the image needs %d MiB of memory, flavor %q has %d", image.MinRAMMegabytes, flavor.Name, flavor.RAM)
		}
		if needed := max(int64(image.MinDiskGigabytes), gibibytes(image.SizeBytes), gibibytes(image.VirtualSize)); disk > 0 && needed > disk {
			result.Invalid(path, image.Name, "the image needs a root disk of %d GiB, that of the machines has %d", needed, disk)
		}
	})
}

func gibibytes(bytes int64) int64 {
	return (bytes + gibibyte - 1) / gibibyte
}

// architectures are Glance's names of Gardener's architectures.
var architectures = map[string]string{
	"x86_64": v1beta1constants.ArchitectureAMD64, "amd64": v1beta1constants.ArchitectureAMD64,
	"aarch64": v1beta1constants.ArchitectureARM64, "arm64": v1beta1constants.ArchitectureARM64,
}

// imageArchitecture checks that the images are for the architecture of the pools, if they say for which one they are.
func (v machineChecks) imageArchitecture(_ context.Context, result *platform.Result) error {
	return v.eachImage(func(demand *platform.Demand, _ v1alpha1.OpenStackImage, active []images.Image) {
		if len(active) != 1 || demand.Architecture == "" {
			return
		}
		for _, property := range []string{"hw_architecture", "architecture"} {
			value, _ := active[0].Properties[property].(string)
			if value != "" && architectures[strings.ToLower(value)] != demand.Architecture {
				result.Invalid(demand.Path.Child("machine", "image"), active[0].Name,
					"the property %s of the image is %q, but the pool has machines of %s", property, value, demand.Architecture)
			}
		}
	})
}
