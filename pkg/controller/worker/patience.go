// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/gardener/gardener/pkg/utils/retry"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience says how long a reconciliation waits for machines. The generic actuator ends after 5 minutes with an error, and gardenlet,
// which waits 10, gives up a Worker with an error at once. Hosts of bare metal usually take longer than 5 minutes.
type patience struct {
	// total is how long a reconciliation may take, with all that it waits for.
	total time.Duration
	// interval is the time between two looks at whether the Worker has changed.
	interval time.Duration
	// settling is how long machine-controller-manager may take to count a machine that has begun to run.
	settling time.Duration
}

var defaultPatience = patience{
	// Half a minute less than gardenlet's, so that it sees an error that says what is waited for, and not that nothing is known.
	total:    9*time.Minute + 30*time.Second,
	interval: 3 * time.Second,
	settling: time.Minute,
}

// errChanged ends a reconciliation of what the Worker was before.
var errChanged = errors.New("a change of the Worker")

// trigger is what makes the controller reconcile a Worker.
type trigger struct {
	generation           int64
	operation, timestamp string
	deleting             bool
}

func triggerOf(w *extensionsv1alpha1.Worker) trigger {
	return trigger{
		generation: w.Generation,
		operation:  w.Annotations[v1beta1constants.GardenerOperation],
		timestamp:  w.Annotations[v1beta1constants.GardenerTimestamp],
		deleting:   w.DeletionTimestamp != nil,
	}
}

// isOver reports whether there is something new to do. An operation that is gone is the one that is being done.
func (t trigger) isOver(now trigger) bool {
	return now.generation != t.generation || now.timestamp != t.timestamp || now.deleting != t.deleting ||
		now.operation != "" && now.operation != t.operation
}

// reconcilesAlso reports whether what there is to do now is a reconciliation, too.
func (t trigger) reconcilesAlso(now trigger) bool {
	return !now.deleting && (now.operation == "" || now.operation == t.operation || now.operation == v1beta1constants.GardenerOperationReconcile)
}

// reconcileMachines runs the generic actuator, and again if all that it ran into is its own timeout: it finds everything as it
// should be then and goes on waiting. It returns errChanged if the Worker changes meanwhile.
func (a *actuator) reconcileMachines(ctx context.Context, d *delegate, started trigger) error {
	waiting, cancel := a.untilChanged(ctx, client.ObjectKeyFromObject(d.worker), started)
	defer cancel()

	generic := a.newGeneric(d)
	for begin := time.Now(); ; {
		err := generic.Reconcile(waiting, d.log, d.worker, d.cluster)
		switch {
		case err == nil:
			return nil
		case errors.Is(context.Cause(waiting), errChanged):
			return errChanged
		case ctx.Err() != nil || !timedOut(err) || !d.allResolved():
			return err
		}
		slow, listErr := d.slowMachines(ctx, a.patience.settling)
		if listErr != nil || len(slow) == 0 {
			return errors.Join(err, listErr)
		}
		waited := time.Since(begin).Round(time.Second)
		if waiting.Err() != nil {
			return fmt.Errorf("machines are not ready after %s: %s: %w", waited, describeSlow(slow), err)
		}
		d.tellSlow(slow, waited)
	}
}

// timedOut reports whether the generic actuator gave up something that did not fail.
func timedOut(err error) bool {
	var timeout *retry.Error
	return errors.As(err, &timeout)
}

// untilChanged returns a context that ends with the patience, or with errChanged.
func (a *actuator) untilChanged(ctx context.Context, key client.ObjectKey, started trigger) (context.Context, context.CancelFunc) {
	changing, change := context.WithCancelCause(ctx)
	waiting, cancel := context.WithTimeout(changing, a.patience.total)
	go func() {
		for pause(waiting, a.patience.interval); waiting.Err() == nil; pause(waiting, a.patience.interval) {
			now := &extensionsv1alpha1.Worker{}
			if err := a.client.Get(waiting, key, now); err == nil && started.isOver(triggerOf(now)) {
				change(errChanged)
			}
		}
	}()
	return waiting, func() { cancel(); change(nil) }
}

// beginAnew reconciles what the Worker is now. To return first would write an error or a success that is none into its status,
// which gardenlet, who waits already, would believe. What is not a reconciliation has to begin in the controller.
func (a *actuator) beginAnew(ctx context.Context, log logr.Logger, w *extensionsv1alpha1.Worker, started trigger) error {
	now := &extensionsv1alpha1.Worker{}
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(w), now); err != nil {
		return fmt.Errorf("reading the Worker: %w", err)
	}
	end, limited := ctx.Deadline()
	if !started.reconcilesAlso(triggerOf(now)) || limited && time.Until(end) < a.patience.total {
		return &reconciler.RequeueAfterError{Cause: errChanged, RequeueAfter: time.Second}
	}
	c, err := extensionscontroller.GetCluster(ctx, a.client, w.Namespace)
	if err != nil {
		return err
	}
	log.Info("Beginning anew", "reason", errChanged.Error())
	now.DeepCopyInto(w)
	return a.Reconcile(ctx, log, w, c)
}
