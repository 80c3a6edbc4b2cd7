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

// ruleMinimum is how many virtual machines a rule has at least.
const ruleMinimum = 2

// ruleTries is how often a rule is written that somebody else changed in between.
const ruleTries = 3

// ruleTimeout limits the work on a rule, with the wait for that of others.
const ruleTimeout = 5 * time.Minute

type ruleKey struct{ cluster string }

// keepApart brings the cluster's rule for the machines of the pool up to date, one change of the cluster at a time, and does not wait for
// that. A virtual machine runs without it too: that the rule cannot be written is logged and no reason to fail.
func (c *call) keepApart(ctx context.Context, added types.ManagedObjectReference) {
	if c.spec.AntiAffinityRule == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ruleTimeout)
	go func() {
		defer cancel()
		if err := c.followRule(ctx, added); err != nil {
			klog.ErrorS(err, "Anti-affinity rule could not be written", "site", c.request.Spec.Site, "cluster", c.spec.ComputeCluster, "rule",
				c.spec.AntiAffinityRule)
		}
	}()
}

func (c *call) followRule(ctx context.Context, added types.ManagedObjectReference) (err error) {
	defer platform.Recover(&err)
	lock := c.session.Value(ruleKey{c.spec.ComputeCluster}, func() any { return make(chan struct{}, 1) }).(chan struct{})
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-ctx.Done():
		return client.Classify(ctx.Err())
	}
	for range ruleTries {
		if err = c.writeRule(ctx, added); err == nil {
			return nil
		}
	}
	return err
}

// writeRule makes the rule name the virtual machines that are marked with it, as far as it does not.
func (c *call) writeRule(ctx context.Context, added types.ManagedObjectReference) error {
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
		if vm.extraConfig[owner.KeyRule] == c.spec.AntiAffinityRule {
			members = append(members, vm.reference)
		}
	}
	if added.Value != "" && !slices.Contains(members, added) {
		members = append(members, added) // the list may have begun before it was there
	}
	change := ruleChange(rule, c.spec.AntiAffinityRule, members)
	if change == nil {
		return nil
	}
	task, err := object.NewClusterComputeResource(c.session.VIM(), cluster).Reconfigure(ctx,
		&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{*change}}, true)
	if err != nil {
		return client.Classify(err)
	}
	_, err = c.session.Wait(ctx, task.Reference())
	return err
}

func findRule(cluster *mo.ClusterComputeResource, name string) *types.ClusterAntiAffinityRuleSpec {
	configuration, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if !ok {
		return nil
	}
	for _, rule := range configuration.Rule {
		if apart, ok := rule.(*types.ClusterAntiAffinityRuleSpec); ok && apart.Name == name {
			return apart
		}
	}
	return nil
}

// ruleChange is the change that makes the rule name the members, nil if it does.
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
