// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// actuator runs Gardener's generic actuator with a new delegate for each call, and reports the zones that the delegate could not resolve
// after all others were reconciled.
type actuator struct {
	worker.Actuator

	newGeneric   func(*delegate) worker.Actuator
	client       client.Client
	reader       client.Reader
	gardenReader client.Reader
	events       eventnote.Writer
	resolver     resolver
	forceDeleter forceDeleter
	waitPolicy   waitPolicy
}

// NewActuator creates a new Actuator that reconciles Workers.
func NewActuator(
	mgr manager.Manager,
	gardenCluster cluster.Cluster,
	machineClasses platform.Registry[platform.MachineClasses],
	machines platform.Registry[platform.Machines],
	timeout time.Duration,
) worker.Actuator {
	newGeneric := func(d *delegate) worker.Actuator {
		filtering := filteringManager{mgr, filteringClient{mgr.GetClient(), hashesToRetain(d.worker, d.zones), d.facts.kept}}
		return genericactuator.NewActuator(filtering, gardenCluster, d, errorcodes.OfMachines)
	}
	a := &actuator{
		Actuator:     newGeneric(&delegate{call: &call{}, facts: &facts{}}),
		newGeneric:   newGeneric,
		client:       mgr.GetClient(),
		reader:       mgr.GetAPIReader(),
		events:       eventnote.Writer{EventRecorder: mgr.GetEventRecorder(v1alpha1.ExtensionName + "-worker")},
		resolver:     resolver{machineClasses: machineClasses, timeout: timeout},
		forceDeleter: forceDeleter{machines: machines, timeout: forceDeleteTimeout},
		waitPolicy:   defaultWaitPolicy,
	}
	if gardenCluster != nil {
		a.gardenReader = gardenCluster.GetAPIReader()
	}
	return a
}

// Reconcile reconciles the zones that can be resolved, retains the others as they are, waits for the machines, and then returns the errors
// of unresolved zones. If the Worker changes in the meantime, it restarts.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	call, started := a.newCall(log, w, c), triggerOf(w)
	var err error
	if call.quarantinedSince, err = call.readQuarantines(ctx); err != nil {
		return err
	}
	waiting, cancel := a.waitPolicy.untilChanged(ctx, call, started)
	defer cancel()

	d, err := newDelegate(waiting, call, a.resolver, former{})
	if err == nil {
		err = a.waitPolicy.reconcile(ctx, waiting, a.newGeneric(d), call, d.zones)
	}
	cancel()
	switch {
	case err != nil && errors.Is(context.Cause(waiting), errChanged):
		if c, err = a.waitPolicy.restart(ctx, call, started); err != nil {
			return err
		}
		log.Info("Restarting the reconciliation, as the Worker or a quarantine has changed")
		return a.Reconcile(ctx, log, w, c)
	case d == nil:
		return errorcodes.WithCodes(err)
	}
	siteErr, cleanUpErr := cleanUpSites(ctx, call, a.resolver, d.facts, d.zones)
	tolerated, others := split(d.zones)
	return errorcodes.WithCodes(errors.Join(
		unresolved(others), err, completeStatus(ctx, call, d.zones), cleanUpErr, a.writeCondition(ctx, w, tolerated, siteErr)))
}

// writeCondition reports failing sites that do not fail the Worker: their zones need no change or are in quarantine, or they were not
// cleaned up.
func (a *actuator) writeCondition(ctx context.Context, w *extensionsv1alpha1.Worker, tolerated []*resolved, siteErr error) error {
	failing := errors.Join(unresolved(tolerated), siteErr)
	var messages []string
	if failing != nil {
		messages = strings.Split(failing.Error(), "\n")
	}
	return condition.Write(ctx, a.client, clock.RealClock{}, w, v1alpha1.ConditionSitesReconciled, v1alpha1.ReasonSitesStay, messages,
		[]error{failing})
}

// Restore restores the machines only if all zones can be resolved. Machines of other zones would have no objects in the new seed and be
// deleted as orphans. Machine classes that only machines have are written, too.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	before, err := readFormer(ctx, a.gardenReader, w, c.Shoot)
	if err != nil {
		return fmt.Errorf("reading the machine state: %w", err)
	}
	d, err := newDelegate(ctx, a.newCall(log, w, c), a.resolver, before)
	if err == nil {
		err = unresolved(d.zones)
	}
	if err == nil {
		err = genericactuator.RestoreWithoutReconcile(ctx, log, a.gardenReader, a.client, d, w, c)
	}
	if err != nil {
		return errorcodes.WithCodes(fmt.Errorf("restoring the machines: %w", err))
	}
	return a.Reconcile(ctx, log, w, c)
}

// Delete deletes all machines, also those of sites in quarantine. Unresolved zones do not block it, because their machines have a machine
// class.
func (a *actuator) Delete(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	call := a.newCall(log, w, c)
	gone, err := nothingLeft(ctx, call)
	switch {
	case err != nil:
		return err
	case gone:
		err = deleteMachineClassSecrets(ctx, call)
	default:
		err = a.deleteMachines(ctx, call)
	}
	if err != nil {
		return errorcodes.WithCodes(err)
	}
	cleanUpSitesAfterDeletion(ctx, call, a.resolver)
	return nil
}

func (a *actuator) deleteMachines(ctx context.Context, c *call) error {
	if err := annotateMachineClasses(ctx, c, nil, nil); err != nil {
		return err
	}
	d, err := newDelegate(ctx, c, a.resolver, former{})
	if err != nil {
		return err
	}
	if d.classes, err = needed(ctx, c, d.classes); err != nil {
		return err
	}
	return a.newGeneric(d).Delete(ctx, c.log, c.worker, c.cluster)
}

// ForceDelete deletes the machines, best effort, and stores those that are left in the status. Failing sites do not fail it.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) error {
	return forceDelete(ctx, a.newCall(log, w, c), a.resolver, a.forceDeleter)
}

func (a *actuator) newCall(log logr.Logger, w *extensionsv1alpha1.Worker, c *extensionscontroller.Cluster) *call {
	return &call{start: time.Now(), log: log, client: a.client, reader: a.reader, events: a.events, worker: w, cluster: c}
}
