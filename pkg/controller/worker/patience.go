// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// reasonMachinesSlow is the reason of the events about machines that are waited for longer than usual.
const reasonMachinesSlow = "MachinesSlow"

// notReady begins the error about machines that were not ready in time.
const notReady = "machines are not ready after"

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
	return !now.deleting &&
		(now.operation == "" || now.operation == t.operation || now.operation == v1beta1constants.GardenerOperationReconcile)
}

// untilChanged returns a context that ends with the patience, or with errChanged as its cause.
func (p patience) untilChanged(ctx context.Context, c *call, started trigger) (context.Context, context.CancelFunc) {
	changing, change := context.WithCancelCause(ctx)
	waiting, cancel := context.WithTimeout(changing, p.total)
	key := client.ObjectKeyFromObject(c.worker)
	go func() {
		for pause(waiting, p.interval); waiting.Err() == nil; pause(waiting, p.interval) {
			now := &extensionsv1alpha1.Worker{}
			if err := c.client.Get(waiting, key, now); err == nil && started.isOver(triggerOf(now)) {
				change(errChanged)
			}
		}
	}()
	return waiting, func() { cancel(); change(nil) }
}

// changed reads what the Worker is now, to be reconciled at once. To return first would write an error or a success that is none into
// its status, which gardenlet, who waits already, would believe. What is not a reconciliation has to begin in the controller.
func (p patience) changed(ctx context.Context, c *call, started trigger) (*extensionscontroller.Cluster, error) {
	now := &extensionsv1alpha1.Worker{}
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(c.worker), now); err != nil {
		return nil, fmt.Errorf("reading the Worker: %w", err)
	}
	end, limited := ctx.Deadline()
	if !started.reconcilesAlso(triggerOf(now)) || limited && time.Until(end) < p.total {
		return nil, &reconciler.RequeueAfterError{Cause: errChanged, RequeueAfter: time.Second}
	}
	cluster, err := extensionscontroller.GetCluster(ctx, c.client, c.worker.Namespace)
	if err != nil {
		return nil, err
	}
	now.DeepCopyInto(c.worker)
	return cluster, nil
}

// reconcile runs the generic actuator, and again if all that it ran into is its own timeout: it finds everything as it should be then
// and goes on waiting, until the waiting context ends.
func (p patience) reconcile(ctx, waiting context.Context, generic worker.Actuator, c *call, zones []*resolved) error {
	for {
		err := generic.Reconcile(waiting, c.log, c.worker, c.cluster)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || !timedOut(err) || !isWhole(zones):
			return err
		}
		slow, listErr := slowMachines(ctx, c, zones, p.settling)
		if listErr != nil || len(slow) == 0 {
			return errors.Join(err, listErr)
		}
		what, waited := describeSlow(slow), time.Since(c.begun).Round(time.Second)
		if waiting.Err() != nil {
			return fmt.Errorf("%s %s: %s: %w", notReady, waited, what, err)
		}
		c.log.Info("Waiting on for slow machines", "waited", waited.String(), "count", len(slow), "machines", what)
		c.events.Normal(c.worker, reasonMachinesSlow, "Reconcile", "Not ready after %s, waiting on: %s", waited, what)
	}
}

// timedOut reports whether the generic actuator gave up something that did not fail.
func timedOut(err error) bool {
	var timeout *retry.Error
	return errors.As(err, &timeout)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// slowMachine is a machine that is waited for.
type slowMachine struct {
	// site and pool are empty if they are not known.
	site, pool, name string
	phase            machinev1alpha1.MachinePhase
	description      string
}

// slowMachines returns the machines that do not run, or not for longer than settling, in the order of their sites, pools and names.
func slowMachines(ctx context.Context, c *call, zones []*resolved, settling time.Duration) ([]slowMachine, error) {
	machines := &machinev1alpha1.MachineList{}
	if err := c.client.List(ctx, machines, client.InNamespace(c.worker.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the machines: %w", err)
	}
	pools := map[string]string{}
	for _, z := range zones {
		pools[z.deploymentName] = z.spec.Name
	}

	var slow []slowMachine
	for i := range machines.Items {
		machine := &machines.Items[i]
		status := machine.Status.CurrentStatus
		if status.Phase == machinev1alpha1.MachineRunning && machine.DeletionTimestamp == nil &&
			time.Since(status.LastUpdateTime.Time) > settling {
			continue
		}
		slow = append(slow, slowMachine{
			site:        machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite],
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

// describeSlow names one machine of each site and pool first, so that none is left out for lack of room.
func describeSlow(slow []slowMachine) string {
	type place struct{ site, pool string }
	var (
		seen         = map[place]bool{}
		first, other []string
	)
	for _, m := range slow {
		if p := (place{m.site, m.pool}); !seen[p] {
			seen[p] = true
			first = append(first, m.String())
			continue
		}
		other = append(other, m.String())
	}
	return eventnote.List(append(first, other...))
}
