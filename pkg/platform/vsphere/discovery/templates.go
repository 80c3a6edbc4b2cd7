// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

const mebibyte = 1 << 20

// system identifies templates with the same operating system.
type system struct{ name, version, architecture string }

// size is the size of virtual machines.
type size struct{ cpus, memory int64 }

// templates adds the templates, and the sizes that they have. Templates with the same operating system in several datacenters are one
// image.
func (s *entities) templates(site *v1alpha1.CloudProfileSite, offer *platform.Offer) {
	var (
		systems = map[system][]*entity{}
		known   = map[size]bool{}
	)
	for _, template := range s.of("VirtualMachine") {
		of := systemOf(template)
		systems[of] = append(systems[of], template)
	}
	for _, template := range s.of("VirtualMachine") {
		of, hardware := systemOf(template), template.template.Hardware
		object := platform.Object{Kind: platform.KindImage, Name: template.path, ID: template.Self.Value, OS: of.name, Version: of.version,
			Architecture: of.architecture}
		if alike := systems[of]; of.name == "" {
			object.Entries.Image = &v1alpha1.SiteMachineImage{Name: site.Name,
				VSphere: &v1alpha1.VSphereImage{Template: template.relative(inventory.Template)}}
		} else if template == mainOf(site, alike) {
			object.Entries.Image = imageOf(site, template, alike, offer)
		}
		offer.Add(object)

		sized := size{cpus: int64(hardware.NumCPU), memory: int64(hardware.MemoryMB) * mebibyte}
		if sized.cpus < 1 || sized.memory < mebibyte || known[sized] {
			continue
		}
		known[sized] = true
		offer.Add(platform.Object{
			Kind: platform.KindGroup, Name: platform.SizeName("vm", sized.cpus, sized.memory), CPUs: sized.cpus, Memory: sized.memory,
			Architecture: of.architecture,
			Entries: platform.Entries{MachineType: &v1alpha1.SiteMachineType{
				Name: site.Name, VSphere: &v1alpha1.VSphereMachineType{},
			}},
		})
	}
}

func systemOf(template *entity) system {
	of := system{architecture: architectureOf(template.template.GuestId)}
	of.name, of.version = platform.SystemOf(template.Name)
	return of
}

// mainOf returns the first of the templates that is in the default datacenter of the site, or else the first.
func mainOf(site *v1alpha1.CloudProfileSite, templates []*entity) *entity {
	if index := slices.IndexFunc(templates, inDatacenter(site.VSphere.Datacenter)); index >= 0 {
		return templates[index]
	}
	return templates[0]
}

func inDatacenter(name string) func(*entity) bool {
	return func(e *entity) bool { return e.datacenter == inventory.Datacenter.Path("", name) }
}

// imageOf returns the image whose template is the main one, with other templates for zones whose datacenters have one of another path.
func imageOf(site *v1alpha1.CloudProfileSite, main *entity, templates []*entity, offer *platform.Offer) *v1alpha1.SiteMachineImage {
	image := &v1alpha1.VSphereImage{Template: main.relative(inventory.Template)}
	for _, zone := range inventory.ZonesOf(site) {
		isThere := inDatacenter(zone.Datacenter())
		if slices.ContainsFunc(templates, func(e *entity) bool { return isThere(e) && e.relative(inventory.Template) == image.Template }) {
			continue
		}
		index := slices.IndexFunc(templates, isThere)
		if index < 0 {
			offer.Omit(platform.KindImage, main.path, "datacenter %q has no such template, so that it cannot be used in zone %q",
				zone.Datacenter(), zone.Name)
			continue
		}
		image.Zones = append(image.Zones, v1alpha1.VSphereImageZone{Name: zone.Name, Template: templates[index].relative(inventory.Template)})
	}
	return &v1alpha1.SiteMachineImage{Name: site.Name, VSphere: image}
}
