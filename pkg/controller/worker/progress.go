// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"slices"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
)

// patientManager is a manager for Gardener's generic actuator, which fails when it sees the first machine that has failed. For
// machine-controller-manager a machine has failed whose deletion takes longer than one call, such as that of a host that is cleaned.
type patientManager struct {
	manager.Manager
}

// GetClient returns a client that does not tell of machines whose deletion goes on.
func (m patientManager) GetClient() client.Client {
	return patientClient{m.Manager.GetClient()}
}

type patientClient struct {
	client.Client
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
