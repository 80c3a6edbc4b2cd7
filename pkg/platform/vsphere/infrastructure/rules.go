// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/inventory"
)

// ownedRule is an anti-affinity rule of the shoot.
type ownedRule struct {
	cluster types.ManagedObjectReference
	key     int32
	name    string
}

// rules returns the shoot's anti-affinity rules in the clusters that its zones have or had. The driver removes a rule with its last
// machine; one is left if that failed, or if the zone got another cluster.
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

// clusters returns those of the state and those that the CloudProfile names, each once.
func (f *flow) clusters(ctx context.Context) ([]types.ManagedObjectReference, error) {
	var clusters []types.ManagedObjectReference
	for _, id := range f.State().ComputeClusters {
		clusters = append(clusters, types.ManagedObjectReference{Type: "ClusterComputeResource", Value: id})
	}
	if f.site.Profile == nil || f.site.Profile.VSphere == nil {
		return clusters, nil
	}
	for _, z := range f.site.Profile.Zones {
		if z.VSphere == nil {
			continue
		}
		named := inventory.Zone{Site: f.site.Profile.VSphere, Zone: z.VSphere}
		cluster, err := inventory.Lookup(ctx, f.vim, inventory.ComputeCluster, named.ComputeCluster())
		if err != nil {
			return nil, err
		}
		if cluster != nil && cluster.Type == "ClusterComputeResource" && !slices.Contains(clusters, *cluster) {
			clusters = append(clusters, *cluster)
		}
	}
	return clusters, nil
}

func (f *flow) deleteRules(ctx context.Context) error {
	rules, err := f.rules(ctx)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		remove := types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: rule.key}}
		task, err := object.NewClusterComputeResource(f.vim, rule.cluster).Reconfigure(ctx,
			&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{remove}}, true)
		if err == nil {
			err = task.Wait(ctx)
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}
