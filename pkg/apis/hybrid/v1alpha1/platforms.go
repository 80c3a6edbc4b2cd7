// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Platforms returns the platforms whose blocks are set.
func (s *CloudProfileSite) Platforms() []Platform {
	return platforms(s.OpenStack != nil, s.VSphere != nil, s.Metal != nil)
}

// Platform returns the platform whose block is set, and false unless that is exactly one.
func (s *CloudProfileSite) Platform() (Platform, bool) {
	return only(s.Platforms())
}

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

// Platforms returns the platforms whose blocks are set.
func (z *SiteZone) Platforms() []Platform {
	return platforms(z.OpenStack != nil, z.VSphere != nil, z.Metal != nil)
}

// Platforms returns the platforms whose blocks are set.
func (c *StorageClass) Platforms() []Platform {
	return platforms(c.OpenStack != nil, c.VSphere != nil, c.Metal != nil)
}

// Platforms returns the platforms whose blocks are set.
func (t *SiteMachineType) Platforms() []Platform {
	return platforms(t.OpenStack != nil, t.VSphere != nil, t.Metal != nil)
}

// Platforms returns the platforms whose blocks are set.
func (t *SiteVolumeType) Platforms() []Platform {
	return platforms(t.OpenStack != nil, t.VSphere != nil, false)
}

// Platforms returns the platforms whose blocks are set.
func (i *SiteMachineImage) Platforms() []Platform {
	return platforms(i.OpenStack != nil, i.VSphere != nil, i.Metal != nil)
}

// Platforms returns the platforms whose blocks are set.
func (s *InfrastructureSite) Platforms() []Platform {
	return platforms(s.OpenStack != nil, s.VSphere != nil, s.Metal != nil)
}

// Platforms returns the platforms whose blocks are set.
func (s *WorkerSite) Platforms() []Platform {
	return platforms(s.OpenStack != nil, s.VSphere != nil, s.Metal != nil)
}

// Platforms returns the platforms whose blocks are set.
func (s *WorkerDataVolumeSite) Platforms() []Platform {
	return platforms(s.OpenStack != nil, s.VSphere != nil, false)
}

// Platform returns the platform whose block is set, and false unless that is exactly one.
func (s *SiteState) Platform() (Platform, bool) {
	return only(platforms(s.OpenStack != nil, s.VSphere != nil, s.Metal != nil))
}

// Platform returns the platform whose block is set, and false unless that is exactly one.
func (s *MachineProviderSpec) Platform() (Platform, bool) {
	return only(platforms(s.OpenStack != nil, s.VSphere != nil, s.Metal != nil))
}

func platforms(openStack, vSphere, metal bool) []Platform {
	var result []Platform
	if openStack {
		result = append(result, PlatformOpenStack)
	}
	if vSphere {
		result = append(result, PlatformVSphere)
	}
	if metal {
		result = append(result, PlatformMetal)
	}
	return result
}

func only(platforms []Platform) (Platform, bool) {
	if len(platforms) != 1 {
		return "", false
	}
	return platforms[0], true
}
