// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"path"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

// ownedObject is an object that exists.
type ownedObject struct {
	reference types.ManagedObjectReference
	name      string
}

func references(objects []ownedObject) []types.ManagedObjectReference {
	return lists.Map(objects, func(o ownedObject) types.ManagedObjectReference { return o.reference })
}

// ownedObjects are the existing objects of a shoot on a site.
type ownedObjects struct {
	tagID                    string
	folders, pools, machines []ownedObject
}

// owned finds the shoot's objects by tag, by state and, if they are not tagged yet, by name.
func (f *flow) owned(ctx context.Context) (*ownedObjects, error) {
	tagID, candidates, err := f.taggedObjects(ctx)
	if err != nil {
		return nil, err
	}
	result := &ownedObjects{tagID: tagID}
	state := f.State()
	for _, folder := range state.Folders {
		candidates = append(candidates, inventory.Folder.Reference(folder.ID))
	}
	for _, pool := range state.ResourcePools {
		candidates = append(candidates, inventory.ResourcePool.Reference(pool.ID))
	}
	named, err := f.namedObjects(ctx)
	if err != nil {
		return nil, err
	}
	existing, err := f.existing(ctx, append(candidates, named...))
	if err != nil {
		return nil, err
	}
	for _, o := range existing {
		switch o.reference.Type {
		case "Folder":
			result.folders = append(result.folders, o)
		case "ResourcePool":
			result.pools = append(result.pools, o)
		case "VirtualMachine":
			result.machines = append(result.machines, o)
		}
	}
	return result, nil
}

// taggedObjects returns the objects with the shoot's tag, and the ID of the tag if it exists.
func (f *flow) taggedObjects(ctx context.Context) (tagID string, tagged []types.ManagedObjectReference, err error) {
	id, err := f.findOwnerTag(ctx)
	if err != nil || id == "" {
		return "", nil, err
	}
	attached, err := f.tags.ListAttachedObjects(ctx, id)
	if err != nil {
		return "", nil, client.IgnoreNotFound(err)
	}
	return id, lists.Map(attached, mo.Reference.Reference), nil
}

func (f *flow) findOwnerTag(ctx context.Context) (string, error) {
	if known := f.State().OwnerTag; known != nil {
		return known.ID, nil
	}
	category, err := inventory.LookupCategory(ctx, f.tags, owner.TagCategory)
	if err != nil || category == "" {
		return "", err
	}
	return inventory.LookupTag(ctx, f.tags, category, f.owner.Name())
}

// namedObjects returns the folders and resource pools with the shoot's name in the zones of the CloudProfile. They have no tag yet if their
// creation was interrupted.
func (f *flow) namedObjects(ctx context.Context) ([]types.ManagedObjectReference, error) {
	var found []types.ManagedObjectReference
	for _, zone := range inventory.ZonesOf(f.site.Profile) {
		kinds := map[string]inventory.Kind{path.Join(zone.Folder(), f.owner.Name()): inventory.Folder}
		if zone.Site.ResourcePools != nil {
			kinds[path.Join(zone.ResourcePool(), f.owner.Name())] = inventory.ResourcePool
		}
		for inventoryPath, kind := range kinds {
			reference, err := inventory.Lookup(ctx, f.vim, kind, inventoryPath)
			if err != nil {
				return nil, err
			}
			if reference != nil {
				found = append(found, *reference)
			}
		}
	}
	return found, nil
}

// existing returns those objects that exist, each once.
func (f *flow) existing(ctx context.Context, candidates []types.ManagedObjectReference) ([]ownedObject, error) {
	var result []ownedObject
	for _, reference := range candidates {
		if slices.ContainsFunc(result, func(o ownedObject) bool { return o.reference == reference }) {
			continue
		}
		switch name, err := f.nameOf(ctx, reference); {
		case err == nil:
			result = append(result, ownedObject{reference: reference, name: name})
		case !client.IsNotFound(err):
			return nil, err
		}
	}
	return result, nil
}

func (f *flow) nameOf(ctx context.Context, reference types.ManagedObjectReference) (string, error) {
	var entity mo.ManagedEntity
	err := property.DefaultCollector(f.vim).RetrieveOne(ctx, reference, []string{"name"}, &entity)
	return entity.Name, client.Classify(err)
}

// contentOf returns the objects in a folder or resource pool.
func (f *flow) contentOf(ctx context.Context, reference types.ManagedObjectReference) ([]ownedObject, error) {
	collector := property.DefaultCollector(f.vim)
	if reference.Type == "Folder" {
		var folder mo.Folder
		if err := collector.RetrieveOne(ctx, reference, []string{"childEntity"}, &folder); err != nil {
			return nil, client.Classify(err)
		}
		return f.existing(ctx, folder.ChildEntity)
	}
	var pool mo.ResourcePool
	if err := collector.RetrieveOne(ctx, reference, []string{"vm", "resourcePool"}, &pool); err != nil {
		return nil, client.Classify(err)
	}
	return f.existing(ctx, slices.Concat(pool.Vm, pool.ResourcePool))
}

// ownedRule is an anti-affinity rule of the shoot.
type ownedRule struct {
	cluster types.ManagedObjectReference
	key     int32
	name    string
}

// rules returns the shoot's anti-affinity rules in the current and former clusters of its zones. The driver removes a rule with its last
// machine; one is left if that failed, or if the zone moved to another cluster.
func (f *flow) rules(ctx context.Context) ([]ownedRule, error) {
	clusters, err := f.clusters(ctx)
	if err != nil {
		return nil, err
	}
	var rules []ownedRule
	for _, cluster := range clusters {
		var current mo.ClusterComputeResource
		err := property.DefaultCollector(f.vim).RetrieveOne(ctx, cluster, []string{"configurationEx"}, &current)
		if err != nil {
			if err = client.IgnoreNotFound(err); err != nil {
				return nil, err
			}
			continue
		}
		configuration, ok := current.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok {
			continue
		}
		for _, rule := range configuration.Rule {
			if info := rule.GetClusterRuleInfo(); f.owner.OwnsRule(info.Name) {
				rules = append(rules, ownedRule{cluster: cluster, key: info.Key, name: info.Name})
			}
		}
	}
	return rules, nil
}

// clusters returns the clusters of the state and of the CloudProfile, each once.
func (f *flow) clusters(ctx context.Context) ([]types.ManagedObjectReference, error) {
	clusters := lists.Map(f.State().ComputeClusters, inventory.ComputeCluster.Reference)
	for _, zone := range inventory.ZonesOf(f.site.Profile) {
		cluster, err := inventory.Lookup(ctx, f.vim, inventory.ComputeCluster, zone.ComputeCluster())
		if err != nil {
			return nil, err
		}
		if cluster != nil && cluster.Type == "ClusterComputeResource" && !slices.Contains(clusters, *cluster) {
			clusters = append(clusters, *cluster)
		}
	}
	return clusters, nil
}
