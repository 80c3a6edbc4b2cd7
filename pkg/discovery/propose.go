// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// DefaultRegion is the region of sites that have none.
	DefaultRegion = "local"
	// volumeClass is the class of all volume types, because sites tell none.
	volumeClass = "standard"
)

// proposal is a CloudProfile in the making.
type proposal struct {
	profile *gardencorev1beta1.CloudProfile
	config  *v1alpha1.CloudProfileConfig
	// site is the site whose offer is added, and offer its offer.
	site  *v1alpha1.CloudProfileSite
	offer *platform.Offer
}

// Propose returns a CloudProfile that offers what the sites offer and that admission accepts. What cannot be in it is added to Omitted of
// the offers. It keeps what no site knows about, such as the versions of Kubernetes and the settings of sites. Sites that were not
// discovered are left out.
func Propose(base *gardencorev1beta1.CloudProfile, found []Discovered) (*gardencorev1beta1.CloudProfile, error) {
	p := &proposal{profile: base.DeepCopy(), config: &v1alpha1.CloudProfileConfig{}}
	p.profile.TypeMeta = metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "CloudProfile"}
	p.profile.ObjectMeta = metav1.ObjectMeta{Name: cmp.Or(base.Name, v1alpha1.ProviderType), Labels: base.Labels}
	p.profile.Status = gardencorev1beta1.CloudProfileStatus{}
	spec := &p.profile.Spec
	spec.Type = v1alpha1.ProviderType
	spec.MachineTypes, spec.MachineImages, spec.VolumeTypes = nil, nil, nil
	for i := range spec.Regions {
		spec.Regions[i].Zones = nil
	}
	if spec.SeedSelector == nil {
		spec.SeedSelector = &gardencorev1beta1.SeedSelector{ProviderTypes: []string{"*"}}
	}
	if len(spec.MachineCapabilities) == 0 {
		spec.MachineCapabilities = []gardencorev1beta1.CapabilityDefinition{{Name: v1beta1constants.ArchitectureName,
			Values: []string{v1beta1constants.ArchitectureAMD64, v1beta1constants.ArchitectureARM64}}}
	}

	for i := range found {
		if found[i].Err == nil {
			p.add(found[i].Offer.Profile.DeepCopy(), &found[i].Offer)
		}
	}
	if len(p.config.Sites) == 0 {
		return nil, noSites(found)
	}
	spec.Regions = slices.DeleteFunc(spec.Regions, func(region gardencorev1beta1.Region) bool { return len(region.Zones) == 0 })
	p.markUnavailable()
	raw, err := codec.Encode(p.config)
	if err != nil {
		return nil, err
	}
	spec.ProviderConfig = raw
	return p.profile, validate(p.profile)
}

// noSites returns why no site can be in a CloudProfile.
func noSites(found []Discovered) error {
	errs := []error{errors.New("no site has a zone that a CloudProfile could have")}
	for i := range found {
		for _, omitted := range found[i].Offer.Omitted {
			if omitted.Kind == platform.KindZone {
				errs = append(errs, fmt.Errorf("site %q: %s", found[i].Site.Name, omitted))
			}
		}
	}
	return errors.Join(errs...)
}

// validate returns an error unless admission accepts the CloudProfile.
func validate(profile *gardencorev1beta1.CloudProfile) error {
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return err
	}
	path := field.NewPath("spec", "providerConfig")
	errs := validation.ValidateCloudProfileConfig(config, &profile.Spec, path)
	return append(errs, validation.ValidateEncryption(config, nil, path)...).ToAggregate()
}

// add adds a site and its offer.
func (p *proposal) add(site *v1alpha1.CloudProfileSite, offer *platform.Offer) {
	site.Region = cmp.Or(site.Region, DefaultRegion)
	site.Zones, site.StorageClasses = nil, nil
	p.site, p.offer = site, offer
	usable := p.usable()
	for _, object := range usable {
		if object.Entries.Zone != nil {
			p.zone(object)
		}
	}
	if len(site.Zones) == 0 {
		offer.Omit(platform.KindZone, "site "+site.Name, "the site was left out, because it has no zone")
		return
	}
	assumed := 0
	for _, object := range usable {
		switch entries := object.Entries; {
		case entries.MachineType != nil:
			p.machineType(object)
		case entries.VolumeType != nil:
			p.volumeType(object)
		case entries.Image != nil:
			if p.image(object) && object.Architecture == "" {
				assumed++
			}
		}
	}
	if assumed > 0 {
		offer.Omit(platform.KindImage, fmt.Sprintf("%d images", assumed), "their architecture is not known, %s is assumed",
			v1beta1constants.ArchitectureAMD64)
	}
	p.config.Sites = append(p.config.Sites, *site)
}

// usable returns the objects that machines can use, and notes the others that a CloudProfile could have.
func (p *proposal) usable() []*platform.Object {
	var usable []*platform.Object
	for i := range p.offer.Objects {
		switch object := &p.offer.Objects[i]; {
		case object.Unusable == "" && object.Deprecated == "":
			usable = append(usable, object)
		case object.Entries != (platform.Entries{}):
			p.omit(object, "%s", cmp.Or(object.Unusable, object.Deprecated))
		}
	}
	return usable
}

func (p *proposal) omit(object *platform.Object, format string, args ...any) {
	p.offer.Omit(object.Kind, object.Name, format, args...)
}

func (p *proposal) zone(object *platform.Object) {
	zone := *object.Entries.Zone
	region := lists.Find(p.profile.Spec.Regions, func(r *gardencorev1beta1.Region) bool { return r.Name == p.site.Region })
	if region == nil {
		p.profile.Spec.Regions = append(p.profile.Spec.Regions, gardencorev1beta1.Region{Name: p.site.Region})
		region = &p.profile.Spec.Regions[len(p.profile.Spec.Regions)-1]
	}
	if zone.Name == "" || slices.ContainsFunc(region.Zones, func(z gardencorev1beta1.AvailabilityZone) bool { return z.Name == zone.Name }) {
		p.omit(object, "another zone has the name %q", zone.Name)
		return
	}
	region.Zones = append(region.Zones, gardencorev1beta1.AvailabilityZone{Name: zone.Name})
	p.site.Zones = append(p.site.Zones, zone)
}

// machineType adds the site to the machine type with the name and the size. A type of the name with another size is another one.
func (p *proposal) machineType(object *platform.Object) {
	architecture := cmp.Or(object.Architecture, v1beta1constants.ArchitectureAMD64)
	machineType := gardencorev1beta1.MachineType{
		CPU:          *resource.NewQuantity(object.CPUs, resource.DecimalSI),
		Memory:       *resource.NewQuantity(object.Memory, resource.BinarySI),
		GPU:          *resource.NewQuantity(object.GPUs, resource.DecimalSI),
		Architecture: &architecture,
		Capabilities: gardencorev1beta1.Capabilities{v1beta1constants.ArchitectureName: {architecture}},
	}
	for _, name := range []string{platform.EntryName(object.Name), platform.EntryName(p.site.Name, object.Name)} {
		machineType.Name = name
		known := lists.Find(p.profile.Spec.MachineTypes, func(t *gardencorev1beta1.MachineType) bool { return t.Name == name })
		if name == "" || known != nil && !sameSize(known, &machineType) {
			continue
		}
		entry := lists.Find(p.config.MachineTypes, func(t *v1alpha1.MachineType) bool { return t.Name == name })
		if entry == nil {
			p.profile.Spec.MachineTypes = append(p.profile.Spec.MachineTypes, machineType)
			p.config.MachineTypes = append(p.config.MachineTypes, v1alpha1.MachineType{Name: name})
			entry = &p.config.MachineTypes[len(p.config.MachineTypes)-1]
		}
		if !slices.ContainsFunc(entry.Sites, func(s v1alpha1.SiteMachineType) bool { return s.Name == p.site.Name }) {
			entry.Sites = append(entry.Sites, *object.Entries.MachineType)
			return
		}
	}
	p.omit(object, "another machine type has the name %q", machineType.Name)
}

func sameSize(a, b *gardencorev1beta1.MachineType) bool {
	return a.CPU.Cmp(b.CPU) == 0 && a.Memory.Cmp(b.Memory) == 0 && a.GPU.Cmp(b.GPU) == 0 && *a.Architecture == *b.Architecture
}

// volumeType adds the site to the volume type with the name, and a storage class of its own.
func (p *proposal) volumeType(object *platform.Object) {
	name := platform.EntryName(object.Name)
	if name == "" || helper.FindVolumeType(p.config, name, p.site.Name) != nil {
		p.omit(object, "another volume type has the name %q", name)
		return
	}
	entry := lists.Find(p.config.VolumeTypes, func(t *v1alpha1.VolumeType) bool { return t.Name == name })
	if entry == nil {
		p.profile.Spec.VolumeTypes = append(p.profile.Spec.VolumeTypes, gardencorev1beta1.VolumeType{Name: name, Class: volumeClass})
		p.config.VolumeTypes = append(p.config.VolumeTypes, v1alpha1.VolumeType{Name: name})
		entry = &p.config.VolumeTypes[len(p.config.VolumeTypes)-1]
	}
	entry.Sites = append(entry.Sites, *object.Entries.VolumeType)
	if object.Entries.StorageClass != nil {
		class := *object.Entries.StorageClass
		class.Name = platform.EntryName(p.site.Name, name)
		class.Default = object.Default && !slices.ContainsFunc(p.site.StorageClasses, func(c v1alpha1.StorageClass) bool { return c.Default })
		p.site.StorageClasses = append(p.site.StorageClasses, class)
	}
}

// image adds the site to the version of the image, and reports whether it did.
func (p *proposal) image(object *platform.Object) bool {
	version := semanticVersion(object.Version)
	if object.OS == "" || version == "" {
		p.omit(object, "neither its name nor its properties tell an operating system and its version")
		return false
	}
	architecture := cmp.Or(object.Architecture, v1beta1constants.ArchitectureAMD64)
	if helper.FindMachineImage(helper.MachineImageRequest{Name: object.OS, Version: version, Site: p.site.Name,
		Capabilities: gardencorev1beta1.Capabilities{v1beta1constants.ArchitectureName: {architecture}},
	}, p.config.MachineImages) != nil {
		p.omit(object, "another image is %s %s for %s", object.OS, version, architecture)
		return false
	}
	p.config.MachineImages = helper.AddMachineImage(p.config.MachineImages, object.OS, version, helper.MachineImage{
		Capabilities: map[string][]string{v1beta1constants.ArchitectureName: {architecture}}, Site: object.Entries.Image,
	})

	image := lists.Find(p.profile.Spec.MachineImages, func(i *gardencorev1beta1.MachineImage) bool { return i.Name == object.OS })
	if image == nil {
		p.profile.Spec.MachineImages = append(p.profile.Spec.MachineImages, gardencorev1beta1.MachineImage{Name: object.OS})
		image = &p.profile.Spec.MachineImages[len(p.profile.Spec.MachineImages)-1]
	}
	known := lists.Find(image.Versions, func(v *gardencorev1beta1.MachineImageVersion) bool { return v.Version == version })
	if known == nil {
		image.Versions = append(image.Versions, gardencorev1beta1.MachineImageVersion{
			ExpirableVersion: gardencorev1beta1.ExpirableVersion{Version: version},
			CRI:              []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}},
		})
		known = &image.Versions[len(image.Versions)-1]
	}
	if !slices.Contains(known.Architectures, architecture) {
		known.Architectures = append(known.Architectures, architecture)
		known.CapabilityFlavors = append(known.CapabilityFlavors, gardencorev1beta1.MachineImageFlavor{
			Capabilities: gardencorev1beta1.Capabilities{v1beta1constants.ArchitectureName: {architecture}},
		})
	}
	return true
}

var versionParts = regexp.MustCompile(`^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?`)

// semanticVersion returns the version with three numbers without leading zeros, such as 24.4.0 for 24.04. It is empty if there is none.
func semanticVersion(version string) string {
	parts := versionParts.FindStringSubmatch(version)
	if parts == nil {
		return ""
	}
	numbers := make([]string, 0, len(parts)-1)
	for _, part := range parts[1:] {
		number, ok := numberOf(cmp.Or(part, "0"))
		if !ok {
			return ""
		}
		numbers = append(numbers, number)
	}
	return strings.Join(numbers, ".")
}

// markUnavailable marks the types that sites do not have as unavailable in their zones, which dashboards and Gardener read.
func (p *proposal) markUnavailable() {
	for i := range p.profile.Spec.Regions {
		region := &p.profile.Spec.Regions[i]
		for j := range region.Zones {
			site, _ := helper.FindZone(p.config, region.Name, region.Zones[j].Name)
			if site == nil {
				continue
			}
			for _, machineType := range p.config.MachineTypes {
				if helper.FindMachineType(p.config, machineType.Name, site.Name) == nil {
					region.Zones[j].UnavailableMachineTypes = append(region.Zones[j].UnavailableMachineTypes, machineType.Name)
				}
			}
			for _, volumeType := range p.config.VolumeTypes {
				if helper.FindVolumeType(p.config, volumeType.Name, site.Name) == nil {
					region.Zones[j].UnavailableVolumeTypes = append(region.Zones[j].UnavailableVolumeTypes, volumeType.Name)
				}
			}
		}
	}
}
