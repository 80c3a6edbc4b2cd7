// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package discovery lists what an OpenStack site offers.
package discovery

import (
	"context"
	"fmt"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type discovery struct {
	sessions *client.Sessions
}

// New returns the Discovery part of the OpenStack platform.
func New(sessions *client.Sessions) platform.Discovery {
	return &discovery{sessions: sessions}
}

// Discover implements platform.Discovery.
func (d *discovery) Discover(ctx context.Context, s *site.Site) (_ platform.Offer, err error) {
	defer platform.NameSite(s.Name, &err)
	if s.Profile == nil || s.Profile.OpenStack == nil {
		return platform.Offer{}, client.ErrNoProfile
	}
	session, err := d.sessions.Get(ctx, s.Name, client.ConnectionOf(s.Profile), s.Credentials)
	if err != nil {
		return platform.Offer{}, err
	}
	l := &lister{session: session, site: s.Name}
	offer, err := platform.Collect(ctx,
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindZone}, List: l.zones},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindMachineType}, List: l.flavors},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindImage}, List: l.images},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindVolumeType}, List: l.volumeTypes},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindExternalNetwork, platform.KindNetwork}, List: l.networks},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindLoadBalancerProvider}, List: l.loadBalancerProviders},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindQuota}, List: l.quotas},
	)
	if err == nil {
		offer.Profile = profileOf(s.Profile, offer.Objects)
	}
	return offer, err
}

// profileOf returns the site with the external networks and load balancer providers that exist. It keeps the load balancer classes of
// external networks.
func profileOf(site *v1alpha1.CloudProfileSite, objects []platform.Object) *v1alpha1.CloudProfileSite {
	site = site.DeepCopy()
	before := site.OpenStack.FloatingPools
	site.OpenStack.FloatingPools, site.OpenStack.LoadBalancerProviders = nil, nil
	for i := range objects {
		switch object := &objects[i]; {
		case object.Deprecated != "" || object.Unusable != "":
		case object.Kind == platform.KindExternalNetwork:
			pool := v1alpha1.OpenStackFloatingPool{Name: object.Name}
			if index := slices.IndexFunc(before, func(p v1alpha1.OpenStackFloatingPool) bool { return p.Name == pool.Name }); index >= 0 {
				pool = before[index]
			}
			site.OpenStack.FloatingPools = append(site.OpenStack.FloatingPools, pool)
		case object.Kind == platform.KindLoadBalancerProvider:
			site.OpenStack.LoadBalancerProviders = append(site.OpenStack.LoadBalancerProviders, object.Name)
		}
	}
	return site
}

// References implements platform.Discovery.
func (d *discovery) References(part platform.ProfilePart) []platform.Reference {
	switch {
	case part.Zone != nil && part.Zone.OpenStack != nil:
		return platform.ReferenceTo(part.Zone.OpenStack.AvailabilityZone, "openstack.availabilityZone", platform.KindZone)
	case part.MachineType != nil && part.MachineType.OpenStack != nil:
		return platform.ReferenceTo(part.MachineType.OpenStack.Flavor, "openstack.flavor", platform.KindMachineType)
	case part.VolumeType != nil && part.VolumeType.OpenStack != nil:
		return platform.ReferenceTo(part.VolumeType.OpenStack.Type, "openstack.type", platform.KindVolumeType)
	case part.StorageClass != nil && part.StorageClass.OpenStack != nil:
		return platform.ReferenceTo(part.StorageClass.OpenStack.Type, "openstack.type", platform.KindVolumeType)
	case part.Image != nil && part.Image.OpenStack != nil:
		if part.Image.OpenStack.ImageID != "" {
			return platform.ReferenceTo(part.Image.OpenStack.ImageID, "openstack.imageID", platform.KindImage)
		}
		return []platform.Reference{{Kinds: []platform.ObjectKind{platform.KindImage}, Field: "openstack.imageName",
			Name: part.Image.OpenStack.ImageName, Unique: true}}
	case part.Site != nil && part.Site.OpenStack != nil:
		return referencesOf(part.Site.OpenStack)
	default:
		return nil
	}
}

// referencesOf returns what the profile itself refers to. External networks are also those of load balancer classes.
func referencesOf(profile *v1alpha1.OpenStackProfile) []platform.Reference {
	var references []platform.Reference
	for i, pool := range profile.FloatingPools {
		field := fmt.Sprintf("openstack.floatingPools[%d]", i)
		references = append(references, platform.Reference{Kinds: []platform.ObjectKind{platform.KindExternalNetwork}, Field: field + ".name",
			Name: pool.Name, Unique: true})
		for j, class := range pool.LoadBalancerClasses {
			field := fmt.Sprintf("%s.loadBalancerClasses[%d]", field, j)
			references = append(references, platform.ReferenceTo(class.FloatingNetworkID, field+".floatingNetworkID",
				platform.KindExternalNetwork)...)
			references = append(references, platform.ReferenceTo(class.NetworkID, field+".networkID", platform.KindNetwork,
				platform.KindExternalNetwork)...)
		}
	}
	for i, provider := range profile.LoadBalancerProviders {
		field := fmt.Sprintf("openstack.loadBalancerProviders[%d]", i)
		references = append(references, platform.ReferenceTo(provider, field, platform.KindLoadBalancerProvider)...)
	}
	for i, id := range profile.Networks {
		references = append(references, platform.ReferenceTo(id, fmt.Sprintf("openstack.networks[%d]", i), platform.KindNetwork,
			platform.KindExternalNetwork)...)
	}
	for i, id := range profile.FloatingNetworks {
		references = append(references, platform.ReferenceTo(id, fmt.Sprintf("openstack.floatingNetworks[%d]", i),
			platform.KindExternalNetwork)...)
	}
	return references
}
