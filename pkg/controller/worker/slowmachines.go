// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// reasonMachinesSlow is the reason of the events about machines that are waited for longer than usual.
const reasonMachinesSlow = "MachinesSlow"

// slowMachine is a machine that is waited for.
type slowMachine struct {
	// site and pool are empty if they are not known.
	site, pool, name string
	phase            machinev1alpha1.MachinePhase
	description      string
}

// slowMachines returns the machines that do not run, or not for longer than settling, in the order of their sites, pools and names.
func (d *delegate) slowMachines(ctx context.Context, settling time.Duration) ([]slowMachine, error) {
	machines := &machinev1alpha1.MachineList{}
	if err := d.client.List(ctx, machines, client.InNamespace(d.worker.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the machines: %w", err)
	}
	pools := map[string]string{}
	if d.planned != nil {
		d.planned.zones(func(p *pool, z *zone) { pools[z.deploymentName] = p.spec.Name })
	}

	var slow []slowMachine
	for i := range machines.Items {
		machine := &machines.Items[i]
		status := machine.Status.CurrentStatus
		if status.Phase == machinev1alpha1.MachineRunning && machine.DeletionTimestamp == nil && time.Since(status.LastUpdateTime.Time) > settling {
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

// tellSlow writes a log entry and an event about machines that are waited for on.
func (d *delegate) tellSlow(slow []slowMachine, waited time.Duration) {
	what := describeSlow(slow)
	d.log.Info("Waiting on for slow machines", "waited", waited.String(), "count", len(slow), "machines", what)
	d.events.Tell(d.worker, reasonMachinesSlow, "Reconcile", "Not ready after %s, waiting on: %s", waited, what)
}
