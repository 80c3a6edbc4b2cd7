// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
)

// delegate implements what Gardener's generic actuator needs for one Worker.
type delegate struct {
	*call

	facts *facts
	zones []*resolved
	// classes are the machine classes that are still to be written.
	classes []machineClass
}

var (
	_ genericactuator.DelegateFactory = &delegate{}
	_ genericactuator.WorkerDelegate  = &delegate{}
)

// newDelegate reads the facts, plans the zones, resolves them at their sites and generates the machine classes. It returns an error only
// if the seed cannot be read; errors of pools, zones and sites are those of the zones concerned.
func newDelegate(ctx context.Context, c *call, r resolver, before former) (*delegate, error) {
	f, err := readFacts(ctx, c, before)
	if err != nil {
		return nil, err
	}
	zones := r.resolve(ctx, f, plan(f))
	reportUnresolved(c, zones)
	return &delegate{call: c, facts: f, zones: zones, classes: machineClasses(f, zones)}, nil
}

// WorkerDelegate implements genericactuator.DelegateFactory. The delegate is for one Worker already.
func (d *delegate) WorkerDelegate(context.Context, *extensionsv1alpha1.Worker,
	*extensionscontroller.Cluster) (genericactuator.WorkerDelegate, error) {
	return d, nil
}

// GenerateMachineDeployments writes the machine classes and returns one machine deployment per pool and zone. The generic actuator
// lists the classes next. If the class of a machine deployment is missing there, it waits for two machine sets until the rolling update
// has finished, when the old one no longer exists, and times out. If the class is there, it waits for the machine set with that class.
func (d *delegate) GenerateMachineDeployments(ctx context.Context) (worker.MachineDeployments, error) {
	if err := d.DeployMachineClasses(ctx); err != nil {
		return nil, err
	}
	if err := waitForMachineClasses(ctx, d.call, d.zones); err != nil {
		return nil, err
	}
	if err := annotateMachineClasses(ctx, d.call, d.facts.sites, d.facts.quarantines); err != nil {
		return nil, err
	}
	return machineDeployments(d.zones, d.facts.quarantines), nil
}

// DeployMachineClasses writes the machine classes of all resolved zones. Further calls are no-ops.
func (d *delegate) DeployMachineClasses(ctx context.Context) error {
	if err := apply(ctx, d.client, d.classes); err != nil {
		return err
	}
	d.classes = nil
	return nil
}

// UpdateMachineImagesStatus writes the machine images in use into the status of the Worker. It is the last call of the generic actuator
// before it waits for machines, so unused objects are deleted here: after the wait they would stay until the machines of all sites are
// healthy.
func (d *delegate) UpdateMachineImagesStatus(ctx context.Context) error {
	if err := updateMachineImagesStatus(ctx, d.call, d.zones); err != nil {
		return err
	}
	if err := cleanUp(ctx, d.call, d.zones); err != nil {
		return err
	}
	return clearLastError(ctx, d.call, d.zones)
}

// PreReconcileHook is a no-op.
func (d *delegate) PreReconcileHook(context.Context) error { return nil }

// PostReconcileHook is a no-op.
func (d *delegate) PostReconcileHook(context.Context) error { return nil }

// PreDeleteHook is a no-op.
func (d *delegate) PreDeleteHook(context.Context) error { return nil }

// PostDeleteHook is a no-op.
func (d *delegate) PostDeleteHook(context.Context) error { return nil }

// filteringManager is a manager for Gardener's generic actuator whose client hides and keeps some fields.
type filteringManager struct {
	manager.Manager

	client filteringClient
}

// GetClient implements manager.Manager.
func (m filteringManager) GetClient() client.Client {
	return m.client
}

type filteringClient struct {
	client.Client

	hashes retainedHashes
	kept   keptObjects
}

// List hides failed machines whose deletion is in progress: the generic actuator returns an error if any machine has failed, and for
// machine-controller-manager a machine has failed if its deletion takes more than one call, such as that of a host that is cleaned. It also
// hides everything that the generic actuator would wait for at sites in quarantine.
func (c filteringClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	c.kept.hide(list)
	if deployments, ok := list.(*machinev1alpha1.MachineDeploymentList); ok {
		for i := range deployments.Items {
			status := &deployments.Items[i].Status
			status.FailedMachines = slices.DeleteFunc(slices.Clone(status.FailedMachines), func(machine *machinev1alpha1.MachineSummary) bool {
				return machine.LastOperation.Type == machinev1alpha1.MachineOperationDelete &&
					errorcodes.IsProgress(machine.LastOperation.Description)
			})
		}
	}
	return nil
}

// Delete keeps the classes and secrets of machines at sites in quarantine. The generic actuator deletes all that it did not deploy, which
// is right only after it has waited for the machines.
func (c filteringClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	if c.kept.has(object) {
		return nil
	}
	return c.Client.Delete(ctx, object, opts...)
}

// Status implements client.StatusClient.
func (c filteringClient) Status() client.SubResourceWriter {
	return statusWriter{c.Client.Status(), c.hashes}
}

// retainedHashes are the in-place update hashes, empty if there is none yet, of pools with a zone that retains its machine class. The
// generic actuator sees no difference between the machines of such a zone and its machine deployment. With the new hash, Gardener would
// consider the pool updated, and complete a rotation of credentials that its machines do not have.
type retainedHashes map[string]string

func hashesToRetain(w *extensionsv1alpha1.Worker, zones []*resolved) retainedHashes {
	hashes := retainedHashes{}
	for _, z := range zones {
		if z.retained == nil {
			continue
		}
		hashes[z.spec.Name] = ""
		if updates := w.Status.InPlaceUpdates; updates != nil {
			hashes[z.spec.Name] = updates.WorkerPoolToHashMap[z.spec.Name]
		}
	}
	return hashes
}

type statusWriter struct {
	client.SubResourceWriter

	hashes retainedHashes
}

// Patch writes the retained hashes instead of new ones.
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
