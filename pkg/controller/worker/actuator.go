// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// actuator runs Gardener's generic actuator with a delegate of its own for each call, because the delegate knows which zones
// were kept back, and that is told after everything else was done.
type actuator struct {
	worker.Actuator

	newGeneric   func(*delegate) worker.Actuator
	client       client.Client
	reader       client.Reader
	gardenReader client.Reader
	events       eventnote.Writer
	resolver     resolver
	remover      remover
	patience     patience
}

// NewActuator creates a new Actuator that reconciles Workers.
func NewActuator(
	mgr manager.Manager,
	gardenCluster cluster.Cluster,
	machineClasses platform.Registry[platform.MachineClasses],
	machines platform.Registry[platform.Machines],
	resolveTimeout time.Duration,
) worker.Actuator {
	newGeneric := func(d *delegate) worker.Actuator {
		return genericactuator.NewActuator(patientManager{mgr, d}, gardenCluster, d, errorcodes.OfMachines)
	}
	a := &actuator{
		Actuator:   newGeneric(nil),
		newGeneric: newGeneric,
		client:     mgr.GetClient(),
		reader:     mgr.GetAPIReader(),
		events:     eventnote.Writer{EventRecorder: mgr.GetEventRecorder(v1alpha1.ExtensionName + "-worker")},
		resolver:   resolver{machineClasses: machineClasses, timeout: resolveTimeout},
		remover:    remover{machines: machines, timeout: removeTimeout},
		patience:   defaultPatience,
	}
	if gardenCluster != nil {
		a.gardenReader = gardenCluster.GetAPIReader()
	}
	return a
}

// Reconcile writes what can be resolved, keeps the rest as it is, waits for the machines, and returns what could not be resolved at
// the end. If the Worker changes meanwhile, it begins anew.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	d := a.newDelegate(log, w, c)
	started := triggerOf(w)
	err := a.reconcileMachines(ctx, d, started)
	if errors.Is(err, errChanged) {
		return a.beginAnew(ctx, log, w, started)
	}
	return errorcodes.WithCodes(errors.Join(d.unresolved(), err, d.completeStatus(ctx), d.cleanUpSites(ctx)))
}

// Restore restores the machines only if all zones can be resolved. A zone that is left out would lose its machines: nothing
// in the new seed knows them, and they would be deleted as orphans. Machine classes that only machines have are written, too.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	d := a.newDelegate(log, w, c)
	d.needsAll = true
	var err error
	if d.former, d.formerSites, err = a.formerClasses(ctx, w, c.Shoot); err != nil {
		return fmt.Errorf("failed reading the machine state: %w", err)
	}
	if err := genericactuator.RestoreWithoutReconcile(ctx, log, a.gardenReader, a.client, d, w, c); err != nil {
		return errorcodes.WithCodes(fmt.Errorf("failed restoring the worker state: %w", err))
	}
	return a.Reconcile(ctx, log, w, c)
}

// Delete deletes all machines. Zones that cannot be resolved do not stop it: if they have machines, they have a machine class.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	d := a.newDelegate(log, w, c)
	d.deleting = true
	gone, err := d.nothingLeft(ctx)
	if err != nil {
		return err
	}
	if gone {
		err = d.deleteMachineClassSecrets(ctx)
	} else {
		err = a.newGeneric(d).Delete(ctx, log, w, c)
	}
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	d.cleanUpSitesAfterDeletion(ctx)
	return nil
}

// ForceDelete deletes the machines as far as that is possible and writes down what is left. No site keeps it from succeeding.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	return a.newDelegate(log, w, c).forceDelete(ctx, a.remover)
}

func (a *actuator) newDelegate(log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) *delegate {
	d := &delegate{
		log:      log,
		client:   a.client,
		reader:   a.reader,
		events:   a.events,
		resolver: a.resolver,
		worker:   w,
		cluster:  c,
	}
	if w.Status.InPlaceUpdates != nil {
		d.hashes = maps.Clone(w.Status.InPlaceUpdates.WorkerPoolToHashMap)
	}
	return d
}
