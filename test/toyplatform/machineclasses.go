// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

type machineClasses struct{ cloud *Cloud }

// NewMachineClasses returns the platform's part for the Worker controller.
func NewMachineClasses(cloud *Cloud) platform.MachineClasses { return &machineClasses{cloud} }

// Resolve implements platform.MachineClasses.
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if err := m.cloud.request(ctx, request.Site.Name); err != nil {
		return err
	}
	machine := &toyapi.MachineSpec{
		Connection: toyapi.Of[toyapi.Profile](request.Site.Profile.Blocks).Connection,
		Image:      toyapi.Of[toyapi.Image](request.Image.Blocks).URL,
		Model:      toyapi.Of[toyapi.MachineType](request.MachineType.Blocks).Model,
	}
	spec.Blocks = toyapi.Blocks(machine)
	if policy, ok := groupPolicy(request); ok {
		machine.Group = request.Pool + "/" + policy
		m.cloud.addGroup(request.Site.Name, machine.Group)
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
	return map[string]string{"topology.toy/zone": toyapi.Of[toyapi.Zone](zone.Blocks).Shelf}
}

func groupPolicy(request platform.MachineClassRequest) (string, bool) {
	settings := toyapi.Of[toyapi.Worker](request.Settings.Blocks)
	if settings == nil || settings.Group == "" {
		return "", false
	}
	return settings.Group, true
}

// Locate implements platform.MachineClasses.
func (m *machineClasses) Locate(s *site.Site, _ *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error) {
	var specs []*v1alpha1.MachineProviderSpec
	for _, place := range m.cloud.placesOf(s.Name) {
		machine := &toyapi.MachineSpec{Connection: toyapi.Connection{Place: place}}
		specs = append(specs, &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot, Blocks: toyapi.Blocks(machine)})
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
		used = append(used, toyapi.Of[toyapi.MachineSpec](spec.Blocks).Group)
	}
	m.cloud.keepGroups(s.Name, used)
	return nil
}
