// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"fmt"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// instances are the machines of one site. They return an error for every node that may belong to another site: the controllers would delete
// nodes whose machine does not exist, initialize nodes whose machine is unknown, and panic if there is neither a result nor an error.
type instances struct {
	// ctx is done when the set ends.
	ctx      context.Context
	config   *siteConfig
	machines platform.NodeMachines
	drivers  *csiDrivers
	births   *births
}

var _ cloudprovider.InstancesV2 = &instances{}

// InstanceExists implements cloudprovider.InstancesV2. It returns false only for a node that the site's own controllers initialized,
// because machines of other sites do not exist here either.
func (i *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	if err := i.checkKnown(node); err != nil {
		return false, err
	}
	exists, err := call(ctx, i.ctx, func(ctx context.Context) (bool, error) { return i.machines.Exists(ctx, node) })
	if err != nil || exists {
		return exists, err
	}
	if by := node.Labels[v1alpha1.LabelInitializedBy]; by != i.config.Site.Name {
		return false, i.errorf(platform.ClassConflict,
			"node %q: machine %q does not exist, but the node was not initialized by the site (label %s is %q)",
			node.Name, node.Spec.ProviderID, v1alpha1.LabelInitializedBy, by)
	}
	return false, nil
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	if err := i.checkKnown(node); err != nil {
		return false, err
	}
	return call(ctx, i.ctx, func(ctx context.Context) (bool, error) { return i.machines.ShutDown(ctx, node) })
}

// InstanceMetadata implements cloudprovider.InstancesV2. Zone and region are Gardener's. It returns an error for a node that is not
// initialized and whose CSI drivers are not registered.
func (i *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	if err := i.check(node); err != nil {
		return nil, err
	}
	if by, ok := node.Labels[v1alpha1.LabelInitializedBy]; ok && by != i.config.Site.Name {
		return nil, i.errorf(platform.ClassConflict, "node %q was initialized by site %q", node.Name, by)
	}
	if missing := i.drivers.missingOn(node); len(missing) > 0 {
		return nil, i.errorf(platform.ClassTransient, "node %q: the CSI drivers %q are not registered yet", node.Name, missing)
	}
	machine, err := call(ctx, i.ctx, func(ctx context.Context) (platform.NodeMachine, error) { return i.machines.Describe(ctx, node) })
	if err != nil {
		return nil, err
	}
	if !i.machines.HasProviderID(machine.ProviderID) || node.Spec.ProviderID != "" && node.Spec.ProviderID != machine.ProviderID {
		return nil, i.errorf(platform.ClassConflict, "node %q: its machine has provider ID %q instead of %q", node.Name, machine.ProviderID,
			node.Spec.ProviderID)
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:       machine.ProviderID,
		InstanceType:     machine.Type,
		NodeAddresses:    machine.Addresses,
		Region:           i.config.Region,
		AdditionalLabels: map[string]string{v1alpha1.LabelInitializedBy: i.config.Site.Name},
	}
	if initialized(node) {
		return metadata, nil
	}
	i.births.describe(node, machine.Birth)
	metadata.Zone, err = i.zone(node, machine.Zones)
	return metadata, err
}

// zone returns the zone of the node's machine. Zones that share a failure domain of the platform are distinguished by the name of the
// MachineDeployment, which is a prefix of the name of the node.
func (i *instances) zone(node *corev1.Node, candidates []string) (string, error) {
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	if len(candidates) == 0 {
		return "", i.errorf(platform.ClassConfiguration, "node %q: its machine is in none of the site's zones", node.Name)
	}
	pool := node.Labels[v1beta1constants.LabelWorkerPool]
	var found []string
	for _, candidate := range candidates {
		if strings.HasPrefix(node.Name, helper.MachineDeploymentName(i.config.Shoot, pool, candidate)+"-") {
			found = append(found, candidate)
		}
	}
	if len(found) != 1 {
		return "", i.errorf(platform.ClassConfiguration,
			"node %q: its machine may be in any of the zones %q, and the name of the node matches none or several", node.Name, candidates)
	}
	return found[0], nil
}

// check returns an error for a node that does not have the label of the site, or has the provider ID of another platform.
func (i *instances) check(node *corev1.Node) error {
	if label := node.Labels[v1alpha1.LabelSite]; label != i.config.Site.Name {
		return i.errorf(platform.ClassConflict, "node %q belongs to site %q", node.Name, label)
	}
	if id := node.Spec.ProviderID; id != "" && !i.machines.HasProviderID(id) {
		return i.errorf(platform.ClassConflict, "node %q: provider ID %q does not belong to the site", node.Name, id)
	}
	return nil
}

// checkKnown is check for calls that need the provider ID.
func (i *instances) checkKnown(node *corev1.Node) error {
	if node.Spec.ProviderID == "" {
		return i.errorf(platform.ClassTransient, "node %q has no provider ID yet", node.Name)
	}
	return i.check(node)
}

func (i *instances) errorf(class platform.Class, format string, args ...any) error {
	return platform.InSite(i.config.Site.Name, platform.NewError(class, format, args...))
}

// call calls f with a context that is done when either that of the caller or that of the set is done. It returns an error if the set has
// ended or f panics.
func call[T any](caller, set context.Context, f func(context.Context) (T, error)) (T, error) {
	if err := set.Err(); err != nil {
		var none T
		return none, fmt.Errorf("the controllers of the site have ended: %w", err)
	}
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	defer context.AfterFunc(set, cancel)()
	return platform.Safely(func() (T, error) { return f(ctx) })
}
