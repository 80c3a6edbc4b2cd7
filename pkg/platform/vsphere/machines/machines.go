// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machines creates, finds and deletes the virtual machines of a vSphere site.
package machines

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
)

const csiDriver = "csi.vsphere.vmware.com"

type machines struct {
	sessions  *client.Sessions
	creations *operations[*creation]
	deletions *operations[*deletion]
}

// New returns the Machines part of the vSphere platform.
func New(sessions *client.Sessions) platform.Machines {
	return &machines{sessions: sessions, creations: newOperations[*creation](), deletions: newOperations[*deletion]()}
}

// Create implements platform.Machines. One task creates the virtual machine and powers it on. Its ID is known in advance; a call does not
// wait long for the end of the task, and calls for the same machine share one creation.
func (m *machines) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).begin)
}

// Initialize implements platform.Machines. It waits for a creation that continues after Create.
func (m *machines) Initialize(ctx context.Context, request platform.MachineRequest) error {
	_, err := platform.Perform(ctx, request, m.call, func(c *call, ctx context.Context) (any, error) { return nil, c.initialize(ctx) })
	return err
}

// Get implements platform.Machines.
func (m *machines) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).get)
}

// Delete implements platform.Machines.
func (m *machines) Delete(ctx context.Context, request platform.MachineRequest) error {
	_, err := platform.Perform(ctx, request, m.call, func(c *call, ctx context.Context) (any, error) { return nil, c.delete(ctx) })
	return err
}

// List implements platform.Machines. It lists the virtual machines below the shoot's folder in the datacenter of the machine class.
func (m *machines) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	return platform.Perform(ctx, request, m.call, (*call).listMachines)
}

var _ platform.ListScoper = &machines{}

// ListScope implements platform.ListScoper. The shoot has a folder in each datacenter.
func (m *machines) ListScope(spec *v1alpha1.MachineProviderSpec) string {
	if spec.VSphere == nil {
		return ""
	}
	return spec.VSphere.Folder
}

// VolumeID implements platform.Machines.
func (m *machines) VolumeID(pv *corev1.PersistentVolumeSpec) (string, bool) {
	if pv.CSI != nil && pv.CSI.Driver == csiDriver {
		return pv.CSI.VolumeHandle, true
	}
	return "", false
}

func (m *machines) call(ctx context.Context, request platform.MachineRequest) (*call, error) {
	spec := request.Spec
	if spec.VSphere == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the provider spec has no vsphere block")
	}
	session, err := m.sessions.Get(ctx, spec.Site, spec.VSphere.Connection, request.Credentials)
	if err != nil {
		return nil, err
	}
	o := owner.Owner{Shoot: spec.Shoot, Site: spec.Site}
	if request.Bastion {
		o = o.OfBastions()
	}
	return &call{
		request:   request,
		spec:      spec.VSphere,
		owner:     o,
		session:   session,
		creations: m.creations,
		deletions: m.deletions,
	}, nil
}
