// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"slices"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
)

// patientManager is a manager for Gardener's generic actuator, which fails when it sees the first machine that has failed. For
// machine-controller-manager a machine has failed whose deletion takes longer than one call, such as that of a host that is cleaned.
type patientManager struct {
	manager.Manager

	delegate *delegate
}

// GetClient returns a client that does not tell of machines whose deletion goes on, and writes no pool down as updated in place
// that has machines with an old class.
func (m patientManager) GetClient() client.Client {
	return patientClient{m.Manager.GetClient(), m.delegate}
}

type patientClient struct {
	client.Client

	// delegate is nil if no Worker is reconciled.
	delegate *delegate
}

// Status implements client.StatusClient.
func (c patientClient) Status() client.SubResourceWriter {
	return statusWriter{c.Client.Status(), c.delegate}
}

// statusWriter writes no new hash of a pool with zones that keep their machine class.
type statusWriter struct {
	client.SubResourceWriter

	delegate *delegate
}

// Patch implements client.SubResourceWriter.
func (s statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if w, ok := object.(*extensionsv1alpha1.Worker); ok && s.delegate != nil {
		s.delegate.keepHashes(w)
	}
	return s.SubResourceWriter.Patch(ctx, object, patch, opts...)
}

// List implements client.Reader.
func (c patientClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	if deployments, ok := list.(*machinev1alpha1.MachineDeploymentList); ok {
		for i := range deployments.Items {
			status := &deployments.Items[i].Status
			status.FailedMachines = slices.DeleteFunc(slices.Clone(status.FailedMachines), isDeleting)
		}
	}
	return nil
}

func isDeleting(machine *machinev1alpha1.MachineSummary) bool {
	return machine.LastOperation.Type == machinev1alpha1.MachineOperationDelete && errorcodes.IsProgress(machine.LastOperation.Description)
}
