// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type machineClasses struct{ cloud *Cloud }

// NewMachineClasses returns the platform's part for the Worker controller.
func NewMachineClasses(cloud *Cloud) platform.MachineClasses { return &machineClasses{cloud} }

// groupLabel is the label of hosts that are in a group.
const groupLabel = "group"

// Resolve implements platform.MachineClasses. The server group of the pool, which the platform takes from the settings of an
// OpenStack site, is one in memory.
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if err := m.cloud.request(ctx, request.Site.Name); err != nil {
		return err
	}
	spec.Metal = &v1alpha1.MetalMachineSpec{Image: *request.Image.Metal}
	if request.MachineType.Metal != nil {
		spec.Metal.HostSelector = request.MachineType.Metal.HostSelector
	}
	if policy, ok := groupPolicy(request); ok {
		name := request.Pool + "/" + policy
		m.cloud.addGroup(request.Site.Name, name)
		spec.Metal.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{groupLabel: name}}
	}
	return nil
}

// RollsFor implements platform.MachineClasses.
func (m *machineClasses) RollsFor(request platform.MachineClassRequest) []string {
	if policy, ok := groupPolicy(request); ok {
		return []string{policy}
	}
	return nil
}

// NodeLabels implements platform.MachineClasses.
func (m *machineClasses) NodeLabels(_ *site.Site, zone *v1alpha1.SiteZone) map[string]string {
	return map[string]string{"topology.toy/zone": "raw-" + zone.Name}
}

func groupPolicy(request platform.MachineClassRequest) (string, bool) {
	if request.Settings.OpenStack == nil || request.Settings.OpenStack.ServerGroup == nil {
		return "", false
	}
	return request.Settings.OpenStack.ServerGroup.Policy, true
}

// Locate implements platform.MachineClasses.
func (m *machineClasses) Locate(s *site.Site, _ *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error) {
	var specs []*v1alpha1.MachineProviderSpec
	for _, place := range m.cloud.placesOf(s.Name) {
		metal := &v1alpha1.MetalMachineSpec{Connection: v1alpha1.MetalConnection{Namespace: place}}
		specs = append(specs, &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot, Metal: metal})
	}
	return specs, nil
}

// CleanUp implements platform.Cleaner.
func (m *machineClasses) CleanUp(ctx context.Context, s *site.Site, inUse []*v1alpha1.MachineProviderSpec) error {
	if err := m.cloud.request(ctx, s.Name); err != nil {
		return err
	}
	var used []string
	for _, spec := range inUse {
		if spec.Metal.HostSelector != nil {
			used = append(used, spec.Metal.HostSelector.MatchLabels[groupLabel])
		}
	}
	m.cloud.keepGroups(s.Name, used)
	return nil
}
