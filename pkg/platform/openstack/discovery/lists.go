// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumetypes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/providers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/probe"
)

const (
	// extraSpecsMicroversion is the compute API version whose list of flavors has their extra specifications.
	extraSpecsMicroversion = "2.61"
	// imagesPerPage is the maximum that the image API allows; its default is 25.
	imagesPerPage = 1000
	// internalZone is the availability zone of Nova's own services.
	internalZone = "internal"
	// defaultVolumeType is the name of the volume type that Cinder creates for volumes without one.
	defaultVolumeType = "__DEFAULT__"
	mebibyte          = 1 << 20
)

// lister has the lists of a site.
type lister struct {
	session *client.Session
	site    string
}

func (l *lister) zones(ctx context.Context, offer *platform.Offer) error {
	compute, err := l.session.Compute(ctx)
	if err != nil {
		return err
	}
	found, err := client.AvailabilityZones(ctx, availabilityzones.List(compute))
	if err != nil {
		return err
	}
	for _, zone := range found {
		if zone.ZoneName == internalZone {
			continue
		}
		object := platform.Object{Kind: platform.KindZone, Name: zone.ZoneName, Entries: platform.Entries{Zone: &v1alpha1.SiteZone{
			Name: platform.EntryName(l.site, zone.ZoneName), OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: zone.ZoneName},
		}}}
		if !zone.ZoneState.Available {
			object.Unusable = "it is not available"
		}
		offer.Add(object)
	}
	return nil
}

func (l *lister) flavors(ctx context.Context, offer *platform.Offer) error {
	shared, err := l.session.Compute(ctx)
	if err != nil {
		return err
	}
	compute := *shared
	compute.Microversion = extraSpecsMicroversion
	found, err := client.List(ctx, flavors.ListDetail(&compute, flavors.ListOpts{}), flavors.ExtractFlavors)
	if err != nil {
		return err
	}
	for i := range found {
		flavor := &found[i]
		if flavor.VCPUs < 1 || flavor.RAM < 1 {
			offer.Omit(platform.KindMachineType, cmp.Or(platform.Printable(flavor.Name), flavor.ID), "it has no CPUs or no memory")
			continue
		}
		offer.Add(platform.Object{
			Kind: platform.KindMachineType, Name: flavor.Name, CPUs: int64(flavor.VCPUs), Memory: int64(flavor.RAM) * mebibyte,
			GPUs: gpusOf(flavor.ExtraSpecs), Architecture: architectureOf(flavor.ExtraSpecs),
			Entries: platform.Entries{MachineType: &v1alpha1.SiteMachineType{
				Name: l.site, OpenStack: &v1alpha1.OpenStackMachineType{Flavor: flavor.Name},
			}},
		})
	}
	return nil
}

// architectureOf returns the architecture that a flavor requires of hosts, empty if it requires none.
func architectureOf(specs map[string]string) string {
	switch {
	case specs["trait:HW_ARCH_AARCH64"] == "required":
		return platform.ArchitectureOf("aarch64")
	case specs["trait:HW_ARCH_X86_64"] == "required":
		return platform.ArchitectureOf("x86_64")
	default:
		return platform.ArchitectureOf(cmp.Or(specs["hw:architecture"], specs["capabilities:cpu_arch"], specs["cpu_arch"]))
	}
}

// gpusOf returns the number of GPUs of servers of a flavor: virtual ones, and PCI devices whose alias says that they are GPUs.
func gpusOf(specs map[string]string) int64 {
	var gpus int64
	for _, key := range []string{"resources:VGPU", "resources:PGPU"} {
		if number, err := strconv.ParseInt(specs[key], 10, 16); err == nil {
			gpus += max(0, number)
		}
	}
	for device := range strings.SplitSeq(specs["pci_passthrough:alias"], ",") {
		alias, count, _ := strings.Cut(device, ":")
		if number, err := strconv.ParseInt(count, 10, 16); err == nil && strings.Contains(strings.ToLower(alias), "gpu") {
			gpus += max(0, number)
		}
	}
	return gpus
}

// images lists images, also those that are hidden: machine classes cannot be resolved to them.
func (l *lister) images(ctx context.Context, offer *platform.Offer) error {
	service, err := l.session.Image(ctx)
	if err != nil {
		return err
	}
	for _, options := range []images.ListOpts{{Limit: imagesPerPage}, {Limit: imagesPerPage, Hidden: true}} {
		found, err := client.List(ctx, images.List(service, options), images.ExtractImages)
		if err != nil {
			return err
		}
		slices.SortFunc(found, func(a, b images.Image) int { return b.CreatedAt.Compare(a.CreatedAt) })
		for i := range found {
			l.image(&found[i], offer)
		}
	}
	return nil
}

func (l *lister) image(image *images.Image, offer *platform.Offer) {
	object := platform.Object{
		Kind: platform.KindImage, Name: cmp.Or(image.Name, image.ID), ID: image.ID,
		Architecture: platform.ArchitectureOf(property(image, "architecture")),
		Entries: platform.Entries{Image: &v1alpha1.SiteMachineImage{
			Name: l.site, OpenStack: &v1alpha1.OpenStackImage{ImageID: image.ID},
		}},
	}
	object.OS, object.Version = platform.SystemOf(image.Name)
	if distribution := property(image, "os_distro"); distribution != "" {
		object.OS = platform.EntryName(distribution)
	}
	if version := property(image, "os_version"); beginsWithNumber(version) && !strings.HasPrefix(object.Version, version) {
		object.Version = version
	}
	switch {
	case image.Status != images.ImageStatusActive:
		object.Unusable = "its status is " + string(image.Status)
	case image.Hidden:
		object.Deprecated, object.Unusable = "it is hidden", "it is hidden, so that it is not found by its name or ID"
	case property(image, "image_type") == "snapshot":
		object.Unusable = "it is a snapshot of a server"
	case slices.Contains([]string{"aki", "ari", "iso"}, image.DiskFormat):
		object.Unusable = "its disk format is " + image.DiskFormat
	}
	for _, name := range []string{"deprecated", "os_deprecated"} {
		if strings.EqualFold(property(image, name), "true") {
			object.Deprecated = cmp.Or(object.Deprecated, "it has the property "+name)
		}
	}
	offer.Add(object)
}

func beginsWithNumber(version string) bool {
	return version != "" && version[0] >= '0' && version[0] <= '9'
}

// property returns a property of an image that is text, empty if there is none.
func property(image *images.Image, name string) string {
	text, _ := image.Properties[name].(string)
	return platform.Printable(text)
}

func (l *lister) volumeTypes(ctx context.Context, offer *platform.Offer) error {
	service, err := l.session.Volume(ctx)
	if err != nil {
		return err
	}
	found, err := client.List(ctx, volumetypes.List(service, nil), volumetypes.ExtractVolumeTypes)
	if err != nil {
		return err
	}
	for _, volumeType := range found {
		offer.Add(platform.Object{
			Kind: platform.KindVolumeType, Name: volumeType.Name, ID: volumeType.ID,
			Default: volumeType.Name == defaultVolumeType || len(found) == 1,
			Entries: platform.Entries{
				VolumeType:   &v1alpha1.SiteVolumeType{Name: l.site, OpenStack: &v1alpha1.OpenStackVolumeType{Type: volumeType.Name}},
				StorageClass: &v1alpha1.StorageClass{OpenStack: &v1alpha1.OpenStackStorageClass{Type: volumeType.Name}},
			},
		})
	}
	return nil
}

// network is a network that may be external.
type network struct {
	networks.Network
	external.NetworkExternalExt
}

func (l *lister) networks(ctx context.Context, offer *platform.Offer) error {
	service, err := l.session.Network(ctx)
	if err != nil {
		return err
	}
	found, err := client.List(ctx, networks.List(service, networks.ListOpts{}), func(page pagination.Page) ([]network, error) {
		var found []network
		err := networks.ExtractNetworksInto(page, &found)
		return found, err
	})
	if err != nil {
		return err
	}
	for i := range found {
		object := platform.Object{Kind: platform.KindNetwork, Name: cmp.Or(found[i].Name, found[i].ID), ID: found[i].ID}
		if found[i].External {
			object.Kind = platform.KindExternalNetwork
		}
		offer.Add(object)
	}
	return nil
}

func (l *lister) loadBalancerProviders(ctx context.Context, offer *platform.Offer) error {
	service, err := l.session.LoadBalancer(ctx)
	if errors.Is(err, client.ErrNoService) {
		return nil
	}
	if err != nil {
		return err
	}
	found, err := client.List(ctx, providers.List(service, providers.ListOpts{}), providers.ExtractProviders)
	if err != nil {
		return err
	}
	for _, provider := range found {
		object := platform.Object{Kind: platform.KindLoadBalancerProvider, Name: provider.Name}
		if strings.Contains(strings.ToLower(provider.Description), "deprecated") {
			object.Deprecated = provider.Description
		}
		offer.Add(object)
	}
	return nil
}

func (l *lister) quotas(ctx context.Context, offer *platform.Offer) error {
	compute, err := l.session.Compute(ctx)
	if err != nil {
		return err
	}
	answer, err := client.Extracted(limits.Get(ctx, compute, nil).Extract())
	if err != nil {
		return err
	}
	offer.Quotas = probe.QuotasOf(&answer.Absolute)
	return nil
}
