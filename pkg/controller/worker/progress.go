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

	hashes keptHashes
}

// GetClient returns a client that does not tell of machines whose deletion goes on, and writes no pool down as updated in place
// that has machines with an old class.
func (m patientManager) GetClient() client.Client {
	return patientClient{m.Manager.GetClient(), m.hashes}
}

type patientClient struct {
	client.Client

	hashes keptHashes
}

// Status implements client.StatusClient.
func (c patientClient) Status() client.SubResourceWriter {
	return statusWriter{c.Client.Status(), c.hashes}
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

// keptHashes are the hashes that the status has of pools with a zone that keeps its machine class, empty if it has none. The generic
// actuator finds the machines of such a zone as their machine deployment wants them. With a new hash, Gardener would take the pool for
// updated in place and let a rotation of credentials be completed that these machines have not seen.
type keptHashes map[string]string

func hashesToKeep(w *extensionsv1alpha1.Worker, zones []*resolved) keptHashes {
	kept := keptHashes{}
	for _, z := range zones {
		if z.kept == nil {
			continue
		}
		kept[z.spec.Name] = ""
		if updates := w.Status.InPlaceUpdates; updates != nil {
			kept[z.spec.Name] = updates.WorkerPoolToHashMap[z.spec.Name]
		}
	}
	return kept
}

// statusWriter writes no new hash of the pools whose hash is kept.
type statusWriter struct {
	client.SubResourceWriter

	hashes keptHashes
}

// Patch implements client.SubResourceWriter.
func (s statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if w, ok := object.(*extensionsv1alpha1.Worker); ok && w.Status.InPlaceUpdates != nil {
		hashes := w.Status.InPlaceUpdates.WorkerPoolToHashMap
		for pool, before := range s.hashes {
			if _, ok := hashes[pool]; ok && before != "" {
				hashes[pool] = before
			} else {
				delete(hashes, pool)
			}
		}
	}
	return s.SubResourceWriter.Patch(ctx, object, patch, opts...)
}
