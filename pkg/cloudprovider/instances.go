// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"slices"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// instances stands between the controllers and the site. It answers with an error for every node that the site cannot know: the
// controllers delete the nodes of machines that do not exist, initialize nodes whose machine they know nothing about, and panic
// without an answer.
type instances struct {
	// ctx ends with the set.
	ctx      context.Context
	config   *siteConfig
	machines platform.NodeMachines
	// drivers are the CSI drivers without which no node is initialized.
	drivers *csiDrivers
}

var _ cloudprovider.InstancesV2 = &instances{}

// InstanceExists implements cloudprovider.InstancesV2. That a machine does not exist is believed only for a node that the site's own
// controllers initialized: the machine of another site does not exist here, either.
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
			"node %q: machine %q does not exist, but it is not known to have been the site's (label %s is %q)",
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

// InstanceMetadata implements cloudprovider.InstancesV2. Zone and region are Gardener's. A node that is not initialized is not described
// before it has its CSI drivers.
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
		return nil, i.errorf(platform.ClassConflict, "node %q: its machine has the provider ID %q and not %q", node.Name, machine.ProviderID,
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
	metadata.Zone, err = i.zone(node, machine.Zones)
	return metadata, err
}

// initialized reports whether the controllers have initialized the node. They set its zone once.
func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// zone returns the zone of the node's machine. Zones that share a failure domain of the platform are told apart by the name of the
// MachineDeployment, with which that of the node begins.
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
			"node %q: its machine may be in any of the zones %q, and the name of the node does not tell", node.Name, candidates)
	}
	return found[0], nil
}

// check returns an error for a node that the site does not have: one without its label, or with a provider ID that is not its
// platform's.
func (i *instances) check(node *corev1.Node) error {
	if label := node.Labels[v1alpha1.LabelSite]; label != i.config.Site.Name {
		return i.errorf(platform.ClassConflict, "node %q belongs to site %q", node.Name, label)
	}
	if id := node.Spec.ProviderID; id != "" && !i.machines.HasProviderID(id) {
		return i.errorf(platform.ClassConflict, "node %q: provider ID %q is not one of the site", node.Name, id)
	}
	return nil
}

// checkKnown is check for questions about the machine itself, which has no name but the provider ID.
func (i *instances) checkKnown(node *corev1.Node) error {
	if node.Spec.ProviderID == "" {
		return i.errorf(platform.ClassTransient, "node %q has no provider ID yet", node.Name)
	}
	return i.check(node)
}

func (i *instances) errorf(class platform.Class, format string, args ...any) error {
	return platform.InSite(i.config.Site.Name, platform.NewError(class, format, args...))
}
