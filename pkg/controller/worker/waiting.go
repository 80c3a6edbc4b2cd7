// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/gardener/gardener/pkg/utils/retry"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

const (
	// reasonMachinesSlow is the reason of events about machines that are not ready within the timeout of the generic actuator.
	reasonMachinesSlow = "MachinesSlow"
	// notReady is the prefix of errors about machines that were not ready in time.
	notReady = "machines are not ready after"
)

// waitPolicy limits how long a reconciliation waits for machines. The generic actuator fails after 5 minutes, and gardenlet, which waits
// 10 minutes, fails as soon as the Worker has an error. Bare-metal hosts usually need more than 5 minutes.
type waitPolicy struct {
	// timeout limits the whole reconciliation.
	timeout time.Duration
	// pollInterval is the time between two checks whether the Worker has changed.
	pollInterval time.Duration
	// gracePeriod is how long machine-controller-manager may need to count a machine that has started to run.
	gracePeriod time.Duration
}

var defaultWaitPolicy = waitPolicy{
	// Shorter than gardenlet's timeout, so that gardenlet reports what is waited for.
	timeout:      9*time.Minute + 30*time.Second,
	pollInterval: 3 * time.Second,
	gracePeriod:  time.Minute,
}

// errChanged is the cause of a reconciliation's cancellation after a change of the Worker or of a quarantine.
var errChanged = errors.New("the Worker has changed")

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

// isOutdated returns whether something new was requested. The operation annotation is removed while the operation is in progress.
func (t trigger) isOutdated(now trigger) bool {
	now.operation = cmp.Or(now.operation, t.operation)
	return now != t
}

// isReconciliation returns whether the new request is a reconciliation, too.
func (t trigger) isReconciliation(now trigger) bool {
	return !now.deleting &&
		(now.operation == "" || now.operation == t.operation || now.operation == v1beta1constants.GardenerOperationReconcile)
}

// untilChanged returns a context that ends after the timeout, or with cause errChanged when the Worker changes, or a quarantine begins or
// ends.
func (p waitPolicy) untilChanged(ctx context.Context, c *call, started trigger) (context.Context, context.CancelFunc) {
	cancellable, cancel := context.WithCancelCause(ctx)
	waiting, stop := context.WithTimeout(cancellable, p.timeout)
	key := client.ObjectKeyFromObject(c.worker)
	go func() {
		for pause(waiting, p.pollInterval); waiting.Err() == nil; pause(waiting, p.pollInterval) {
			now := &extensionsv1alpha1.Worker{}
			if err := c.client.Get(waiting, key, now); err == nil && started.isOutdated(triggerOf(now)) {
				cancel(errChanged)
			}
			if since, err := c.readQuarantines(waiting); err == nil && !maps.EqualFunc(since, c.quarantinedSince, time.Time.Equal) {
				cancel(errChanged)
			}
		}
	}()
	return waiting, func() { stop(); cancel(nil) }
}

// restart reads the changed Worker and its Cluster, to reconcile them at once: gardenlet, which waits already, would take the result of
// the canceled reconciliation for that of the new request. Other operations, and those without enough time left, are requeued.
func (p waitPolicy) restart(ctx context.Context, c *call, started trigger) (*extensionscontroller.Cluster, error) {
	now := &extensionsv1alpha1.Worker{}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(c.worker), now); err != nil {
		return nil, fmt.Errorf("reading the Worker: %w", err)
	}
	deadline, ok := ctx.Deadline()
	if !started.isReconciliation(triggerOf(now)) || ok && time.Until(deadline) < p.timeout {
		return nil, &reconciler.RequeueAfterError{Cause: errChanged, RequeueAfter: time.Second}
	}
	cluster, err := extensionscontroller.GetCluster(ctx, c.client, c.worker.Namespace)
	if err != nil {
		return nil, err
	}
	now.DeepCopyInto(c.worker)
	return cluster, nil
}

// reconcile runs the generic actuator until it succeeds, fails, or the waiting context ends. After its timeout the generic actuator is
// run again, which only waits on as nothing else is left to do.
func (p waitPolicy) reconcile(ctx, waiting context.Context, generic worker.Actuator, c *call, zones []*resolved) error {
	for {
		err := generic.Reconcile(waiting, c.log, c.worker, c.cluster)
		var timeout *retry.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &timeout) || !complete(zones) {
			return err
		}
		slow, listErr := slowMachines(ctx, c, zones, p.gracePeriod)
		if listErr != nil || len(slow) == 0 {
			return errors.Join(err, listErr)
		}
		what, waited := describeSlow(slow), time.Since(c.start).Round(time.Second)
		if waiting.Err() != nil {
			return fmt.Errorf("%s %s: %s: %w", notReady, waited, what, err)
		}
		c.log.Info("Still waiting for slow machines", "waited", waited.String(), "count", len(slow), "machines", what)
		c.events.Normal(c.worker, reasonMachinesSlow, "Reconcile", "Not ready after %s, still waiting for: %s", waited, what)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// slowMachine is a machine that is waited for. Its site and pool are empty if they are unknown.
type slowMachine struct {
	site, pool, name string
	phase            machinev1alpha1.MachinePhase
	description      string
}

// slowMachines returns the machines that have not been running for the grace period, sorted by site, pool and name. Those of sites in
// quarantine are not waited for.
func slowMachines(ctx context.Context, c *call, zones []*resolved, gracePeriod time.Duration) ([]slowMachine, error) {
	machines := &machinev1alpha1.MachineList{}
	if err := c.client.List(ctx, machines, client.InNamespace(c.worker.Namespace)); err != nil {
		return nil, fmt.Errorf("listing machines: %w", err)
	}
	pools := map[string]string{}
	for _, z := range zones {
		pools[z.deploymentName] = z.spec.Name
	}

	var slow []slowMachine
	for i := range machines.Items {
		machine := &machines.Items[i]
		status := machine.Status.CurrentStatus
		site := machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		if _, quarantined := c.quarantinedSince[site]; quarantined {
			continue
		}
		if status.Phase == machinev1alpha1.MachineRunning && machine.DeletionTimestamp == nil &&
			time.Since(status.LastUpdateTime.Time) > gracePeriod {
			continue
		}
		slow = append(slow, slowMachine{
			site:        site,
			pool:        pools[machine.Labels[worker.LabelKeyMachineDeploymentName]],
			name:        machine.Name,
			phase:       status.Phase,
			description: machine.Status.LastOperation.Description,
		})
	}
	slices.SortFunc(slow, func(a, b slowMachine) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.pool, b.pool), cmp.Compare(a.name, b.name))
	})
	return slow, nil
}

func (m slowMachine) String() string {
	var b strings.Builder
	if m.site != "" {
		fmt.Fprintf(&b, "site %q: ", m.site)
	}
	if m.pool != "" {
		fmt.Fprintf(&b, "pool %q: ", m.pool)
	}
	fmt.Fprintf(&b, "machine %q is %s", m.name, cmp.Or(m.phase, "new"))
	if m.description != "" {
		fmt.Fprintf(&b, " (%s)", m.description)
	}
	return b.String()
}

// describeSlow lists one machine of each site and pool first, so that truncation hides none of these.
func describeSlow(slow []slowMachine) string {
	var first, others []string
	for i, m := range slow {
		if i == 0 || m.site != slow[i-1].site || m.pool != slow[i-1].pool {
			first = append(first, m.String())
		} else {
			others = append(others, m.String())
		}
	}
	return eventnote.List(append(first, others...))
}
