// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
)

// AllPlatforms returns all platforms.
func AllPlatforms() []Platform {
	return []Platform{PlatformOpenStack, PlatformVSphere, PlatformMetal}
}

// Platforms returns the platforms whose blocks are set.
func (s *CloudProfileSite) Platforms() []Platform { return platformsOf(s) }

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *CloudProfileSite) Platform() (Platform, bool) { return platformOf(s) }

// Endpoint returns the address of the site's API, empty if the site has no platform.
func (s *CloudProfileSite) Endpoint() string {
	switch {
	case s.OpenStack != nil:
		return s.OpenStack.AuthURL
	case s.VSphere != nil:
		return s.VSphere.Server
	case s.Metal != nil:
		return s.Metal.Server
	default:
		return ""
	}
}

// Scope returns the fields, by their paths below the site, that say where the objects of shoots are: none is found elsewhere. The address
// is not among them, because another address may lead to the same objects.
func (s *CloudProfileSite) Scope() map[string]string {
	switch {
	case s.OpenStack != nil:
		return openStackScope(s.OpenStack.Region)
	case s.Metal != nil:
		return metalScope(s.Metal.Inventory, s.Metal.Namespace)
	default:
		return nil
	}
}

// Scope returns what Scope of the site of the CloudProfile was when the objects of the shoot were created.
func (s *SiteState) Scope() map[string]string {
	switch {
	case s.OpenStack != nil:
		return openStackScope(s.OpenStack.Connection.Region)
	case s.Metal != nil:
		return metalScope(s.Metal.Connection.Inventory, s.Metal.Connection.Namespace)
	default:
		return nil
	}
}

func openStackScope(region string) map[string]string {
	return map[string]string{"openstack.region": region}
}

func metalScope(inventory MetalInventory, namespace string) map[string]string {
	return map[string]string{"metal.inventory": string(inventory), "metal.namespace": namespace}
}

// Platforms returns the platforms whose blocks are set.
func (z *SiteZone) Platforms() []Platform { return platformsOf(z) }

// Platforms returns the platforms whose blocks are set.
func (c *StorageClass) Platforms() []Platform { return platformsOf(c) }

// Platforms returns the platforms whose blocks are set.
func (t *SiteMachineType) Platforms() []Platform { return platformsOf(t) }

// Platforms returns the platforms whose blocks are set.
func (t *SiteVolumeType) Platforms() []Platform { return platformsOf(t) }

// Platforms returns the platforms whose blocks are set.
func (i *SiteMachineImage) Platforms() []Platform { return platformsOf(i) }

// Platforms returns the platforms whose blocks are set.
func (s *InfrastructureSite) Platforms() []Platform { return platformsOf(s) }

// Platforms returns the platforms whose blocks are set.
func (s *WorkerSite) Platforms() []Platform { return platformsOf(s) }

// Platforms returns the platforms whose blocks are set.
func (s *WorkerDataVolumeSite) Platforms() []Platform { return platformsOf(s) }

// Platforms returns the platforms whose blocks are set.
func (l *SiteLoadBalancer) Platforms() []Platform { return platformsOf(l) }

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *SiteState) Platform() (Platform, bool) { return platformOf(s) }

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *MachineProviderSpec) Platform() (Platform, bool) { return platformOf(s) }

// Platform returns the platform whose block is set, and false unless exactly one is.
func (s *CloudControllerSite) Platform() (Platform, bool) { return platformOf(s) }

// HasZones reports whether the site has at least one zone.
func (s *CloudControllerSite) HasZones() bool {
	return s.OpenStack != nil && len(s.OpenStack.Zones) > 0 ||
		s.VSphere != nil && len(s.VSphere.Zones) > 0 ||
		s.Metal != nil && len(s.Metal.Zones) > 0
}

// platformsOf returns the platforms whose blocks are set in the struct that object points to. The block of a platform is the pointer in the
// field with the name of the platform.
func platformsOf(object any) []Platform {
	value := reflect.ValueOf(object).Elem()
	return slices.DeleteFunc(AllPlatforms(), func(platform Platform) bool {
		block := value.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, string(platform)) })
		return !block.IsValid() || block.IsNil()
	})
}

func platformOf(object any) (Platform, bool) {
	platforms := platformsOf(object)
	if len(platforms) != 1 {
		return "", false
	}
	return platforms[0], true
}
