// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

type machineClasses struct{ cloud *Cloud }

// NewMachineClasses returns the platform's part for the Worker controller.
func NewMachineClasses(cloud *Cloud) platform.MachineClasses { return &machineClasses{cloud} }

// Resolve implements platform.MachineClasses.
func (m *machineClasses) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if err := m.cloud.request(ctx, request.Site.Name); err != nil {
		return err
	}
	spec.Metal = &v1alpha1.MetalMachineSpec{Image: *request.Image.Metal}
	if request.MachineType.Metal != nil {
		spec.Metal.HostSelector = request.MachineType.Metal.HostSelector
	}
	return nil
}

// RollsFor implements platform.MachineClasses.
func (m *machineClasses) RollsFor(platform.MachineClassRequest) []string { return nil }

// Locate implements platform.MachineClasses.
func (m *machineClasses) Locate(_ *site.Site, spec *v1alpha1.MachineProviderSpec) error {
	spec.Metal = &v1alpha1.MetalMachineSpec{}
	return nil
}

// CleanUp implements platform.MachineClasses.
func (m *machineClasses) CleanUp(ctx context.Context, s *site.Site, _ []*v1alpha1.MachineProviderSpec) error {
	return m.cloud.request(ctx, s.Name)
}
