// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const (
	// ruleMinimum is the minimum number of virtual machines in a rule.
	ruleMinimum = 2
	// ruleTries is how often an update of a rule is tried that conflicts with others.
	ruleTries = 3
	// ruleTimeout limits the update of a rule, including the wait for other updates.
	ruleTimeout = 5 * time.Minute
)

type ruleKey struct{ cluster string }

// ensureAntiAffinity updates the cluster's anti-affinity rule for the machines of the pool in the background, one update of a cluster at a
// time. It is best effort, because a virtual machine runs without the rule, too.
func (c *call) ensureAntiAffinity(ctx context.Context, added types.ManagedObjectReference) {
	if c.spec.AntiAffinityRule == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ruleTimeout)
	go func() {
		defer cancel()
		if err := c.updateRule(ctx, added); err != nil {
			klog.ErrorS(err, "Update of anti-affinity rule failed", "site", c.request.Spec.Site, "cluster", c.spec.ComputeCluster, "rule",
				c.spec.AntiAffinityRule)
		}
	}()
}

func (c *call) updateRule(ctx context.Context, added types.ManagedObjectReference) (err error) {
	defer platform.Recover(&err)
	lock := client.Value(c.session, ruleKey{c.spec.ComputeCluster}, func() chan struct{} { return make(chan struct{}, 1) })
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-ctx.Done():
		return client.Classify(ctx.Err())
	}
	for range ruleTries {
		if err = c.tryUpdateRule(ctx, added); err == nil {
			return nil
		}
	}
	return err
}

// tryUpdateRule makes the virtual machines that are marked with the rule its members, unless they are.
func (c *call) tryUpdateRule(ctx context.Context, added types.ManagedObjectReference) error {
	cluster := reference("ClusterComputeResource", c.spec.ComputeCluster)
	var current mo.ClusterComputeResource
	if err := property.DefaultCollector(c.session.VIM()).RetrieveOne(ctx, cluster, []string{"configurationEx"}, &current); err != nil {
		return client.Classify(err)
	}
	rule := findRule(&current, c.spec.AntiAffinityRule)
	if rule != nil && slices.Contains(rule.Vm, added) {
		return nil
	}
	found, err := c.list(ctx, 0)
	if err != nil {
		return err
	}
	var members []types.ManagedObjectReference
	for _, vm := range found {
		if vm.ExtraConfig[owner.KeyRule] == c.spec.AntiAffinityRule {
			members = append(members, vm.Self)
		}
	}
	if added.Value != "" && !slices.Contains(members, added) {
		members = append(members, added) // the list may be older than the virtual machine
	}
	change := ruleChange(rule, c.spec.AntiAffinityRule, members)
	if change == nil {
		return nil
	}
	_, err = c.session.Run(ctx, func(ctx context.Context) (*object.Task, error) {
		return object.NewClusterComputeResource(c.session.VIM(), cluster).Reconfigure(ctx,
			&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{*change}}, true)
	})
	return err
}

func findRule(cluster *mo.ClusterComputeResource, name string) *types.ClusterAntiAffinityRuleSpec {
	configuration, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if !ok {
		return nil
	}
	for _, rule := range configuration.Rule {
		if found, ok := rule.(*types.ClusterAntiAffinityRuleSpec); ok && found.Name == name {
			return found
		}
	}
	return nil
}

// ruleChange returns the change of the rule that it needs to have the members, or nil if it has them.
func ruleChange(rule *types.ClusterAntiAffinityRuleSpec, name string, members []types.ManagedObjectReference) *types.ClusterRuleSpec {
	change := &types.ClusterRuleSpec{}
	switch {
	case rule == nil && len(members) < ruleMinimum:
		return nil
	case rule == nil:
		change.Operation = types.ArrayUpdateOperationAdd
		rule = &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Name: name, Enabled: new(true)}}
	case len(members) < ruleMinimum:
		change.Operation = types.ArrayUpdateOperationRemove
		change.RemoveKey = rule.Key
		return change
	case sameMembers(rule.Vm, members):
		return nil
	default:
		change.Operation = types.ArrayUpdateOperationEdit
	}
	edited := *rule
	edited.Vm = members
	change.Info = &edited
	return change
}

func sameMembers(a, b []types.ManagedObjectReference) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r types.ManagedObjectReference) bool { return !slices.Contains(b, r) })
}
