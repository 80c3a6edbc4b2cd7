// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const defaultPeriod = time.Second

// Scaler scales the machine deployments of a Worker.
type Scaler struct {
	// Seed has the Worker and the machines.
	Seed client.Client
	// Worker is the Worker.
	Worker client.ObjectKey
	// Period is the time between two looks in Run. Default: 1s.
	Period time.Duration
	// Backoff says how long a deployment whose site is exhausted is left alone. Default: DefaultBackoff.
	Backoff Backoff
	// Clock tells the time. Default: the real one.
	Clock clock.PassiveClock
	// Report receives what Run does, and its errors as they change. Default: nobody.
	Report func(string)

	mutex    sync.Mutex
	pods     Pods
	setbacks map[string]*setback
}

// Outcome is what a look at the shoot came to.
type Outcome struct {
	// Actions are the changes that were made.
	Actions []Action
	// Waiting is the number of pods that have no room, also not on nodes that are yet to come.
	Waiting int
}

// SetPods says which pods there are from now on. Fewer pods remove no node: Remove does.
func (s *Scaler) SetPods(pods Pods) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.pods = pods
}

// Run scales until ctx ends.
func (s *Scaler) Run(ctx context.Context) {
	ticker := time.NewTicker(cmp.Or(s.Period, defaultPeriod))
	defer ticker.Stop()
	last := ""
	for {
		outcome, err := s.Sync(ctx)
		for _, action := range outcome.Actions {
			s.report(action.String())
		}
		if err != nil && ctx.Err() == nil && err.Error() != last {
			s.report(err.Error())
		}
		last = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Scaler) report(line string) {
	if s.Report != nil {
		s.Report(line)
	}
}

// Sync looks once: it takes back what could not be created and, if pods are left without room, raises one deployment.
func (s *Scaler) Sync(ctx context.Context) (Outcome, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	groups, err := s.groups(ctx)
	if err != nil {
		return Outcome{}, err
	}
	var (
		outcome Outcome
		errs    []error
	)
	for _, g := range groups {
		action, err := s.takeBack(ctx, g)
		if action != nil {
			outcome.Actions = append(outcome.Actions, *action)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return outcome, err
	}

	outcome.Waiting = s.pods.Count
	for _, g := range groups {
		outcome.Waiting -= s.pods.fit(g) * int(g.deployment.Spec.Replicas-g.exhaustedCount())
	}
	outcome.Waiting = max(0, outcome.Waiting)
	g := s.choose(groups)
	if outcome.Waiting == 0 || g == nil {
		return outcome, nil
	}
	fit := s.pods.fit(g)
	wanted := int32((outcome.Waiting + fit - 1) / fit) // #nosec G115 -- a pool has few nodes
	action, err := s.raise(ctx, g, min(wanted, g.status.Maximum-g.deployment.Spec.Replicas))
	if action != nil {
		outcome.Actions = append(outcome.Actions, *action)
		outcome.Waiting = max(0, outcome.Waiting-fit*int(action.To-action.From))
	}
	return outcome, err
}

// choose returns the deployment that more nodes may come from: the one with the highest priority, and of these the first by name;
// nil if there is none. The priority expander takes any of those with the same priority.
func (s *Scaler) choose(groups []*group) *group {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g *group) bool {
		return s.pods.fit(g) == 0 || g.deployment.Spec.Replicas >= g.status.Maximum || s.setbacks[g.status.Name].holds(s.now())
	})
	if len(groups) == 0 {
		return nil
	}
	return slices.MinFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.status.Name, b.status.Name))
	})
}

// takeBack removes the machines of a deployment that could not be created because the site is exhausted, as far as the minimum
// allows, and lets the deployment alone for a while.
func (s *Scaler) takeBack(ctx context.Context, g *group) (*Action, error) {
	if len(g.exhausted) == 0 {
		return nil, nil
	}
	until := s.hold(g)
	machines := g.exhausted[:min(len(g.exhausted), max(0, int(g.deployment.Spec.Replicas-g.status.Minimum)))]
	if len(machines) == 0 {
		return nil, nil
	}
	why := fmt.Sprintf("exhausted, not again before %s: %s", until.Format(time.TimeOnly), machines[0].Status.LastOperation.Description)
	return s.remove(ctx, g, slices.Clone(machines), why)
}

// Remove removes machines whose nodes nothing needs any more. No deployment gets smaller than its minimum.
func (s *Scaler) Remove(ctx context.Context, names ...string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	groups, err := s.groups(ctx)
	if err != nil {
		return err
	}
	left := slices.Clone(names)
	for _, g := range groups {
		machines := g.named(names)
		if len(machines) == 0 {
			continue
		}
		if size := g.deployment.Spec.Replicas - int32(len(machines)); size < g.status.Minimum { // #nosec G115 -- a pool has few nodes
			return fmt.Errorf("%s has a minimum of %d and would have %d machines", g.status.Name, g.status.Minimum, size)
		}
		if _, err := s.remove(ctx, g, machines, "not needed"); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(name string) bool {
			return slices.ContainsFunc(machines, func(m machine) bool { return m.Name == name })
		})
	}
	if len(left) > 0 {
		return fmt.Errorf("there are no machines %q to remove", left)
	}
	return nil
}

func (s *Scaler) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock.Now()
}
