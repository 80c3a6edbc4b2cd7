// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	cardinalitySingle   = "SINGLE"
	cardinalityMultiple = "MULTIPLE"
)

// ownedTypes are the types of the objects that are tagged with the tag of a shoot.
var ownedTypes = []string{"Folder", "ResourcePool", "VirtualMachine"}

// ensureOwnerTag creates the shoot's tag in the category that all shoots share. It reads the tag of the state by its ID, because the
// category contains the tags of all shoots.
func (f *flow) ensureOwnerTag(ctx context.Context) (string, error) {
	if known := f.State().OwnerTag; known != nil {
		tag, err := f.tags.GetTag(ctx, known.ID)
		if err == nil && tag.Name == f.owner.Name() {
			return known.ID, nil
		}
		if err != nil && !client.IsNotFound(err) {
			return "", client.Classify(err)
		}
	}
	category, err := f.ensureCategory(ctx, tags.Category{
		Name:            owner.TagCategory,
		Description:     "What belongs to a shoot of Gardener on a site.",
		Cardinality:     cardinalityMultiple,
		AssociableTypes: ownedTypes,
	}, true)
	if err != nil {
		return "", err
	}
	id, err := f.ensureTag(ctx, f.owner.Name(), category, true)
	if err != nil {
		return "", err
	}
	return id, f.Record(ctx, func(state *v1alpha1.VSphereState) {
		state.OwnerTag = &v1alpha1.VSphereObject{ID: id, Path: owner.TagCategory + "/" + f.owner.Name()}
	})
}

// ensureTopology checks the tags of datacenters and clusters that the CSI driver reads, and creates them if the CloudProfile allows that.
func (f *flow) ensureTopology(ctx context.Context, zones []zone) error {
	topology := f.site.Profile.VSphere.Topology
	if topology == nil {
		return nil
	}
	region, err := f.ensureCategory(ctx, tags.Category{
		Name: topology.RegionCategory, Cardinality: cardinalitySingle, AssociableTypes: []string{"Datacenter"},
	}, topology.Create)
	if err != nil {
		return err
	}
	zoneCategory, err := f.ensureCategory(ctx, tags.Category{
		Name: topology.ZoneCategory, Cardinality: cardinalitySingle, AssociableTypes: []string{"ClusterComputeResource"},
	}, topology.Create)
	if err != nil {
		return err
	}
	for _, z := range zones {
		if err := f.ensureTopologyTag(ctx, f.site.Profile.Region, region, z.datacenter, topology.Create); err != nil {
			return fmt.Errorf("zone %q: topology.regionCategory: %w", z.name, err)
		}
		if err := f.ensureTopologyTag(ctx, z.topologyTag, zoneCategory, z.cluster, topology.Create); err != nil {
			return fmt.Errorf("zone %q: topologyTag: %w", z.name, err)
		}
	}
	return nil
}

func (f *flow) ensureTopologyTag(ctx context.Context, name string, category tags.Category, object types.ManagedObjectReference,
	create bool) error {
	id, err := f.ensureTag(ctx, name, category, create)
	if err != nil {
		return err
	}
	tagged, err := f.isTagged(ctx, id, object)
	if err != nil || tagged {
		return err
	}
	if !create {
		return platform.NewError(platform.ClassConfiguration,
			"%s is missing tag %q of category %q, and the CloudProfile does not allow to create it", object, name, category.Name)
	}
	return f.tag(ctx, id, object)
}

func (f *flow) ensureCategory(ctx context.Context, wanted tags.Category, create bool) (_ tags.Category, err error) {
	wanted.ID, err = ensure(fmt.Sprintf("tag category %q", wanted.Name), create,
		func() (string, error) { return inventory.LookupCategory(ctx, f.tags, wanted.Name) },
		func() (string, error) { return f.tags.CreateCategory(ctx, &wanted) })
	return wanted, err
}

func (f *flow) ensureTag(ctx context.Context, name string, category tags.Category, create bool) (string, error) {
	wanted := &tags.Tag{Name: name, CategoryID: category.ID, Description: "Managed by gardener-extension-provider-hybrid."}
	return ensure(fmt.Sprintf("tag %q of category %q", name, category.Name), create,
		func() (string, error) { return inventory.LookupTag(ctx, f.tags, category.ID, name) },
		func() (string, error) { return f.tags.CreateTag(ctx, wanted) })
}

// ensure returns the ID that is found or, if there is none, created. what names the object in the error that it must not be created.
func ensure(what string, mayCreate bool, find, create func() (string, error)) (string, error) {
	if found, err := find(); found != "" || err != nil {
		return found, err
	}
	if !mayCreate {
		return "", platform.NewError(platform.ClassConfiguration,
			"%s does not exist or is not visible to the credentials, and the CloudProfile does not allow to create it", what)
	}
	created, createErr := create()
	if createErr == nil {
		return created, nil
	}
	// Another shoot may have created it meanwhile.
	if found, err := find(); found != "" && err == nil {
		return found, nil
	}
	return "", client.Classify(createErr)
}

func (f *flow) isTagged(ctx context.Context, tagID string, object types.ManagedObjectReference) (bool, error) {
	attached, err := f.tags.ListAttachedTags(ctx, object)
	return slices.Contains(attached, tagID), client.Classify(err)
}

func (f *flow) tag(ctx context.Context, tagID string, object types.ManagedObjectReference) error {
	tagged, err := f.isTagged(ctx, tagID, object)
	if err != nil || tagged {
		return err
	}
	return client.Classify(f.tags.AttachTag(ctx, tagID, mo.Reference(object)))
}
