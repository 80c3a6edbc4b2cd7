// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package discovery lists what a vCenter offers.
package discovery

import (
	"context"
	"fmt"
	"strings"

	pbmtypes "github.com/vmware/govmomi/pbm/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type discovery struct {
	sessions *client.Sessions
}

// New returns the Discovery part of the vSphere platform.
func New(sessions *client.Sessions) platform.Discovery {
	return &discovery{sessions: sessions}
}

// Discover implements platform.Discovery. Zones are clusters. Sizes are those of the templates, because a virtual machine may have any.
func (d *discovery) Discover(ctx context.Context, s *site.Site) (_ platform.Offer, err error) {
	defer platform.NameSite(s.Name, &err)
	if s.Profile == nil || s.Profile.VSphere == nil {
		return platform.Offer{}, platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has a vSphere site of this name")
	}
	session, err := d.sessions.Get(ctx, s.Name, client.ConnectionOf(s.Profile, ""), s.Credentials)
	if err != nil {
		return platform.Offer{}, err
	}
	var (
		listed   *entities
		policies = func(ctx context.Context, offer *platform.Offer) error {
			return listPolicies(ctx, session, s.Profile, offer)
		}
	)
	offer, err := platform.Collect(ctx,
		platform.Listing{
			Kinds: []platform.ObjectKind{
				platform.KindDatacenter, platform.KindZone, platform.KindImage, platform.KindDatastore, platform.KindNetwork,
				platform.KindResourcePool, platform.KindFolder,
			},
			List: func(ctx context.Context, offer *platform.Offer) error {
				return session.Repeat(func() (err error) {
					*offer = platform.Offer{}
					listed, err = retrieve(ctx, session)
					if err == nil {
						listed.offer(s.Profile, offer)
					}
					return err
				})
			},
		},
		platform.Listing{Kinds: []platform.ObjectKind{platform.KindVolumeType}, List: policies},
	)
	if err == nil {
		offer.Profile = s.Profile.DeepCopy()
		if offer.Profile.VSphere.Datacenter == "" && listed != nil {
			offer.Profile.VSphere.Datacenter = listed.defaultDatacenter(s.Profile)
		}
	}
	return offer, err
}

// listPolicies lists the storage policies for virtual machines. Storage classes need the topology of the site.
func listPolicies(ctx context.Context, session *client.Session, profile *v1alpha1.CloudProfileSite, offer *platform.Offer) error {
	policies, err := session.StoragePolicies(ctx)
	if err != nil {
		return err
	}
	for _, policy := range policies {
		if capability, ok := policy.(*pbmtypes.PbmCapabilityProfile); ok &&
			capability.ProfileCategory != string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT) {
			continue
		}
		name := policy.GetPbmProfile().Name
		object := platform.Object{Kind: platform.KindVolumeType, Name: name, ID: policy.GetPbmProfile().ProfileId.UniqueId}
		object.Entries.VolumeType = &v1alpha1.SiteVolumeType{Name: profile.Name, VSphere: &v1alpha1.VSphereVolumeType{StoragePolicy: name}}
		if profile.VSphere.Topology != nil {
			object.Entries.StorageClass = &v1alpha1.StorageClass{VSphere: &v1alpha1.VSphereStorageClass{StoragePolicy: name}}
		}
		offer.Add(object)
	}
	return nil
}

// References implements platform.Discovery.
func (d *discovery) References(part platform.ProfilePart) []platform.Reference {
	var profile *v1alpha1.VSphereProfile
	if part.Site != nil {
		profile = part.Site.VSphere
	}
	switch {
	case part.VolumeType != nil && part.VolumeType.VSphere != nil:
		return platform.ReferenceTo(part.VolumeType.VSphere.StoragePolicy, "vsphere.storagePolicy", platform.KindVolumeType)
	case part.StorageClass != nil && part.StorageClass.VSphere != nil:
		return platform.ReferenceTo(part.StorageClass.VSphere.StoragePolicy, "vsphere.storagePolicy", platform.KindVolumeType)
	case profile == nil:
		return nil
	case part.Zone != nil && part.Zone.VSphere != nil:
		return ofZone(inventory.Zone{Name: part.Zone.Name, Site: profile, Zone: part.Zone.VSphere})
	case part.Image != nil && part.Image.VSphere != nil:
		return ofImage(part.Site, part.Image.VSphere)
	case part.Zone != nil, part.Image != nil, part.MachineType != nil:
		return nil
	default:
		return append(platform.ReferenceTo(inventory.Datacenter.Path("", profile.Datacenter), "vsphere.datacenter", platform.KindDatacenter),
			ofAllowed(profile)...)
	}
}

func ofZone(zone inventory.Zone) []platform.Reference {
	references := platform.ReferenceTo(zone.ComputeCluster(), "vsphere.computeCluster", platform.KindZone)
	if zone.Zone.Datacenter != "" {
		references = append(references, platform.ReferenceTo(inventory.Datacenter.Path("", zone.Zone.Datacenter), "vsphere.datacenter",
			platform.KindDatacenter)...)
	}
	if zone.Zone.ResourcePool != "" {
		references = append(references, platform.ReferenceTo(zone.ResourcePool(), "vsphere.resourcePool", platform.KindResourcePool)...)
	}
	if zone.Zone.Network != "" {
		references = append(references, platform.ReferenceTo(inventory.Network.Path(zone.Datacenter(), zone.Zone.Network), "vsphere.network",
			platform.KindNetwork)...)
	}
	if zone.Site.Folder != "" {
		references = append(references, platform.ReferenceTo(zone.Folder(), "vsphere.datacenter, folder of the site", platform.KindFolder)...)
	}
	references = append(references, platform.ReferenceTo(zone.Zone.StoragePolicy, "vsphere.storagePolicy", platform.KindVolumeType)...)
	return append(references, platform.ReferenceTo(zone.Datastore(), "vsphere.datastore", platform.KindDatastore)...)
}

// ofImage returns the templates of all zones.
func ofImage(profile *v1alpha1.CloudProfileSite, image *v1alpha1.VSphereImage) []platform.Reference {
	var references []platform.Reference
	for _, zone := range inventory.ZonesOf(profile) {
		field, template := "vsphere.template", image.Template
		for i := range image.Zones {
			if image.Zones[i].Name == zone.Name {
				field, template = fmt.Sprintf("vsphere.zones[%d].template", i), image.Zones[i].Template
			}
		}
		references = append(references, platform.ReferenceTo(inventory.Template.Path(zone.Datacenter(), template), field, platform.KindImage)...)
	}
	return references
}

func ofAllowed(profile *v1alpha1.VSphereProfile) []platform.Reference {
	if profile.Allowed == nil {
		return nil
	}
	var references []platform.Reference
	for i, policy := range profile.Allowed.StoragePolicies {
		references = append(references, platform.ReferenceTo(policy, fmt.Sprintf("vsphere.allowed.storagePolicies[%d]", i),
			platform.KindVolumeType)...)
	}
	return references
}

// architectureOf returns the architecture of a guest operating system, whose identifiers begin with arm for 64-bit ARM.
func architectureOf(guest string) string {
	if strings.HasPrefix(guest, "arm") {
		return platform.ArchitectureOf("arm64")
	}
	return platform.ArchitectureOf("amd64")
}
