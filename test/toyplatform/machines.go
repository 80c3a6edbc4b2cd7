// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package toyplatform

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// driverName is the name of the platform's CSI driver.
const driverName = "csi.toy.example.com"

type machines struct{ cloud *Cloud }

// NewMachines returns the platform's part for the driver of machine-controller-manager.
func NewMachines(cloud *Cloud) platform.Machines { return &machines{cloud} }

// Create implements platform.Machines.
func (m *machines) Create(ctx context.Context, r platform.MachineRequest) (platform.Machine, error) {
	if err := m.cloud.request(ctx, r.Spec.Site); err != nil {
		return platform.Machine{}, err
	}
	m.cloud.mu.Lock()
	defer m.cloud.mu.Unlock()
	if m.cloud.machines[r.Spec.Site] == nil {
		m.cloud.machines[r.Spec.Site] = map[string]platform.Machine{}
	}
	machine := platform.Machine{Name: r.Name, ProviderID: "toy:///" + r.Spec.Site + "/" + r.Name}
	m.cloud.machines[r.Spec.Site][r.Name] = machine
	m.cloud.placed[machine.ProviderID] = placeOf(r.Spec)
	return machine, nil
}

// Initialize implements platform.Machines.
func (m *machines) Initialize(ctx context.Context, r platform.MachineRequest) error {
	return m.cloud.request(ctx, r.Spec.Site)
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, r platform.MachineRequest) (platform.Machine, error) {
	if err := m.cloud.request(ctx, r.Spec.Site); err != nil {
		return platform.Machine{}, err
	}
	m.cloud.mu.Lock()
	defer m.cloud.mu.Unlock()
	machine, ok := m.cloud.machines[r.Spec.Site][r.Name]
	if !ok {
		return platform.Machine{}, platform.NewError(platform.ClassNotFound, "machine %q not found", r.Name)
	}
	return machine, nil
}

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, r platform.MachineRequest) error {
	if err := m.cloud.request(ctx, r.Spec.Site); err != nil {
		return err
	}
	m.cloud.mu.Lock()
	defer m.cloud.mu.Unlock()
	if err := m.cloud.kept[r.Spec.Site]; err != nil {
		return err
	}
	if m.isAt(m.cloud.machines[r.Spec.Site][r.Name], r) {
		delete(m.cloud.machines[r.Spec.Site], r.Name)
	}
	return nil
}

// List implements platform.Machines.
func (m *machines) List(ctx context.Context, r platform.MachineRequest) ([]platform.Machine, error) {
	if err := m.cloud.request(ctx, r.Spec.Site); err != nil {
		return nil, err
	}
	m.cloud.mu.Lock()
	defer m.cloud.mu.Unlock()
	if err := m.cloud.failures[r.Spec.Site+"/"+placeOf(r.Spec)]; err != nil {
		return nil, platform.InSite(r.Spec.Site, err)
	}
	var result []platform.Machine
	for _, machine := range m.cloud.machines[r.Spec.Site] {
		if m.isAt(machine, r) {
			result = append(result, machine)
		}
	}
	return result, nil
}

// ListScope implements platform.ListScoper.
func (m *machines) ListScope(spec *v1alpha1.MachineProviderSpec) string {
	return placeOf(spec)
}

// isAt reports whether the machine is in the place of the request.
func (m *machines) isAt(machine platform.Machine, r platform.MachineRequest) bool {
	return m.cloud.placed[machine.ProviderID] == placeOf(r.Spec)
}

// VolumeID implements platform.Machines.
func (m *machines) VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool) {
	if pv.CSI != nil && pv.CSI.Driver == driverName {
		return pv.CSI.VolumeHandle, true
	}
	return "", false
}
