// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"cmp"
	"maps"
	"slices"

	"github.com/Masterminds/semver/v3"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// settings are the shoot owner's settings, empty if there are none.
func (f *facts) settings() v1alpha1.BastionConfig {
	return ptr.Deref(f.Config.Bastion, v1alpha1.BastionConfig{})
}

// siteOf returns the site of the bastion: the one that it is on already, the one in the configuration, or one that is suitable.
func (a *actuator) siteOf(f *facts) (*site.Site, platform.Bastions, error) {
	var (
		used      = slices.DeleteFunc(slices.Clone(f.Sites), func(s site.Site) bool { return s.Removed() })
		supported = slices.DeleteFunc(slices.Clone(used), func(s site.Site) bool { return a.platforms[s.Platform] == nil })
	)
	if name := cmp.Or(f.recorded, f.settings().Site); name != "" {
		s := site.Find(used, name)
		if s == nil {
			return nil, nil, platform.NewError(platform.ClassConfiguration,
				"site %q of the bastion is not one of the shoot's sites; delete the bastion, and set controlPlaneConfig.bastion.site if it names "+
					"the site", name)
		}
		part, err := a.platforms.For(s.Platform)
		return s, part, platform.InSite(s.Name, err)
	}
	if len(supported) == 0 {
		return nil, nil, platform.NewError(platform.ClassConfiguration, "the shoot has no site that supports bastions, which are those of the "+
			"platforms %q; add such a site to the shoot, or use a host of your own in the node network as a jump host", a.platforms.Platforms())
	}
	if s := site.Find(supported, f.Config.DefaultSite); s != nil {
		return s, a.platforms[s.Platform], nil
	}
	for i := range supported {
		if s := &supported[i]; a.platforms[s.Platform].IsPublic(s) {
			return s, a.platforms[s.Platform], nil
		}
	}
	return &supported[0], a.platforms[supported[0].Platform], nil
}

// machine returns the machine of a bastion on the site.
func (f *facts) machine(s *site.Site) (platform.MachineClassRequest, error) {
	request := platform.MachineClassRequest{Site: s, Status: f.SiteStatus(s.Name), Zone: f.zone(s)}
	switch {
	case request.Status == nil:
		return request, platform.NewError(platform.ClassTransient, "the infrastructure of the site is not ready")
	case request.Zone == nil:
		return request, platform.NewError(platform.ClassConfiguration, "the site has no zone in the CloudProfile")
	}
	types, err := f.machineTypes(s)
	if err != nil {
		return request, err
	}
	for _, machineType := range types {
		image := f.image(s, machineType)
		if image == nil {
			continue
		}
		request.MachineType, request.Image = helper.FindMachineType(f.Profile, machineType.Name, s.Name), image
		request.Capacity = corev1.ResourceList{corev1.ResourceCPU: machineType.CPU, corev1.ResourceMemory: machineType.Memory}
		maps.Copy(request.Capacity, request.MachineType.Capacity)
		return request, nil
	}
	return request, platform.NewError(platform.ClassConfiguration, "the site has no supported machine image for the machine types %q, "+
		"or not the one in controlPlaneConfig.bastion or in the CloudProfile's spec.bastion",
		lists.Map(types, func(t gardencorev1beta1.MachineType) string { return t.Name }))
}

// zone returns a zone of the site that has machines of the shoot, or else the first one.
func (f *facts) zone(s *site.Site) *v1alpha1.SiteZone {
	if s.Profile == nil || len(s.Profile.Zones) == 0 {
		return nil
	}
	for _, pool := range f.cluster.Shoot.Spec.Provider.Workers {
		for _, name := range pool.Zones {
			if zone := lists.Find(s.Profile.Zones, func(z *v1alpha1.SiteZone) bool { return z.Name == name }); zone != nil {
				return zone
			}
		}
	}
	return &s.Profile.Zones[0]
}

// machineTypes returns the machine types to choose from, the preferred one first: the one in the configuration, that of the CloudProfile's
// bastion if the site has it, or all of the site, those with the fewest CPUs and the least memory first.
func (f *facts) machineTypes(s *site.Site) ([]gardencorev1beta1.MachineType, error) {
	found := slices.DeleteFunc(slices.Clone(f.cluster.CloudProfile.Spec.MachineTypes), func(t gardencorev1beta1.MachineType) bool {
		return helper.FindMachineType(f.Profile, t.Name, s.Name) == nil
	})
	named := func(name string) []gardencorev1beta1.MachineType {
		return slices.DeleteFunc(slices.Clone(found), func(t gardencorev1beta1.MachineType) bool { return t.Name != name })
	}
	if name := f.settings().MachineType; name != "" {
		if one := named(name); len(one) > 0 {
			return one, nil
		}
		return nil, platform.NewError(platform.ClassConfiguration, "controlPlaneConfig.bastion.machineType: the site does not have %q", name)
	}
	if general := f.cluster.CloudProfile.Spec.Bastion; general != nil && general.MachineType != nil {
		if one := named(general.MachineType.Name); len(one) > 0 {
			return one, nil
		}
	}
	found = slices.DeleteFunc(found, func(t gardencorev1beta1.MachineType) bool { return !ptr.Deref(t.Usable, true) })
	slices.SortStableFunc(found, func(a, b gardencorev1beta1.MachineType) int {
		return cmp.Or(a.CPU.Cmp(b.CPU), a.Memory.Cmp(b.Memory))
	})
	if len(found) == 0 {
		return nil, platform.NewError(platform.ClassConfiguration, "the site has no machine type in the CloudProfile")
	}
	return found, nil
}

// image returns the image for the machine type: the one in the configuration, that of the CloudProfile's bastion if the site has it, or the
// first that fits, each in the latest version that is supported.
func (f *facts) image(s *site.Site, machineType gardencorev1beta1.MachineType) *v1alpha1.SiteMachineImage {
	if wanted := f.settings().Image; wanted != nil {
		return f.findImage(s, machineType, wanted.Name, wanted.Version)
	}
	if general := f.cluster.CloudProfile.Spec.Bastion; general != nil && general.MachineImage != nil {
		if found := f.findImage(s, machineType, general.MachineImage.Name, ptr.Deref(general.MachineImage.Version, "")); found != nil {
			return found
		}
	}
	for _, image := range f.cluster.CloudProfile.Spec.MachineImages {
		if found := f.findImage(s, machineType, image.Name, ""); found != nil {
			return found
		}
	}
	return nil
}

// findImage returns the image with the name, in the latest supported version if none is given.
func (f *facts) findImage(s *site.Site, machineType gardencorev1beta1.MachineType, name, version string) *v1alpha1.SiteMachineImage {
	profile := f.cluster.CloudProfile
	image := lists.Find(profile.Spec.MachineImages, func(i *gardencorev1beta1.MachineImage) bool { return i.Name == name })
	if image == nil {
		return nil
	}
	architecture := machineType.GetArchitecture(profile.Spec.MachineCapabilities)
	capabilities, definitions := helper.Capabilities(profile, machineType.Name, architecture)
	for _, v := range latestFirst(image.Versions) {
		if version != "" && v.Version != version || version == "" && !v1beta1helper.VersionIsSupported(v.ExpirableVersion) {
			continue
		}
		found := helper.FindMachineImage(helper.MachineImageRequest{
			Name: name, Version: v.Version, Site: s.Name, Capabilities: capabilities, Definitions: definitions,
		}, f.Profile.MachineImages)
		if found != nil {
			return found.Site
		}
	}
	return nil
}

// latestFirst returns the versions in descending order. Other texts come last.
func latestFirst(versions []gardencorev1beta1.MachineImageVersion) []gardencorev1beta1.MachineImageVersion {
	parsed := func(v gardencorev1beta1.MachineImageVersion) *semver.Version {
		version, err := semver.NewVersion(v.Version)
		if err != nil {
			return &semver.Version{}
		}
		return version
	}
	return slices.SortedStableFunc(slices.Values(versions), func(a, b gardencorev1beta1.MachineImageVersion) int {
		return parsed(b).Compare(parsed(a))
	})
}
