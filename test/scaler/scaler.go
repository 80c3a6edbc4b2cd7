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

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const defaultPeriod = time.Second

// Scaler scales the machine deployments of a Worker.
type Scaler struct {
	// Seed has the Worker and the machines.
	Seed client.Client
	// Shoot has the nodes. Without it, machines that were created count as ready nodes, and nodes are never unneeded.
	Shoot client.Reader
	// Worker is the Worker.
	Worker client.ObjectKey
	// Period is the time between two looks in Run. Default: 1s.
	Period time.Duration
	// Settings are those of the cluster-autoscaler. Default: DefaultSettings.
	Settings Settings
	// Backoff is how long a deployment is not raised again after machines could not be created. Default: DefaultBackoff.
	Backoff Backoff
	// Clock tells the time. Default: the real one.
	Clock clock.PassiveClock
	// Report receives what Run does, and its errors as they change. Optional.
	Report func(string)

	mutex sync.Mutex
	pods  Pods
	// setbacks and requests are those of deployments by name.
	setbacks map[string]*setback
	requests map[string]*request
	// raised is the time of the last increase.
	raised time.Time
	// exhausted are the names of the machines that were seen to be exhausted, unregistered and unneeded since when others have been so.
	exhausted              sets.Set[string]
	unregistered, unneeded map[string]time.Time
}

// Outcome is the result of a loop.
type Outcome struct {
	// Unhealthy is true if too many nodes are unready, so that nothing else was done.
	Unhealthy bool
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

// Sync runs one loop.
func (s *Scaler) Sync(ctx context.Context) (Outcome, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	groups, err := s.groups(ctx)
	if err != nil {
		return Outcome{}, err
	}
	nodes, err := s.nodes(ctx)
	if err != nil {
		return Outcome{}, err
	}
	s.classify(groups, nodes)
	s.updateRequests(groups)
	s.noteExhausted(groups)

	outcome := Outcome{Unhealthy: !s.isHealthy(nodes)}
	err = s.removeEach(ctx, groups, &outcome, func(g *group) ([]machine, string) { return g.nodes.overdue, "not registered in time" })
	if err != nil {
		return outcome, err
	}
	if outcome.Unhealthy {
		s.unneeded = nil
		return outcome, nil
	}
	if err := s.removeEach(ctx, groups, &outcome, s.failed); err != nil {
		return outcome, err
	}

	outcome.Waiting = s.pods.Count
	for _, g := range groups {
		outcome.Waiting -= s.pods.fit(g) * g.usable()
	}
	outcome.Waiting = max(0, outcome.Waiting)
	if g := s.choose(groups); outcome.Waiting > 0 && g != nil {
		fit := s.pods.fit(g)
		wanted := int32((outcome.Waiting + fit - 1) / fit) // #nosec G115 -- a pool has few nodes
		action, err := s.raise(ctx, g, min(wanted, g.status.Maximum-g.deployment.Spec.Replicas))
		if err != nil {
			return outcome, err
		}
		outcome.Actions = append(outcome.Actions, *action)
		outcome.Waiting = max(0, outcome.Waiting-fit*int(action.To-action.From))
	}
	if s.Shoot == nil {
		return outcome, nil
	}
	actions, err := s.scaleDown(ctx, groups)
	outcome.Actions = append(outcome.Actions, actions...)
	return outcome, err
}

// removeEach removes machines of all deployments, as far as their minima allow.
func (s *Scaler) removeEach(ctx context.Context, groups []*group, outcome *Outcome, which func(*group) ([]machine, string)) error {
	var errs []error
	for _, g := range groups {
		machines, why := which(g)
		action, err := s.removeSome(ctx, g, machines, why)
		if action != nil {
			outcome.Actions = append(outcome.Actions, *action)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// failed returns the machines that could not be created because the site is exhausted.
func (s *Scaler) failed(g *group) ([]machine, string) {
	if len(g.exhausted) == 0 {
		return nil, ""
	}
	why := "exhausted: " + g.exhausted[0].Status.LastOperation.Description
	if last := s.setbacks[g.status.Name]; last.holds(s.now()) {
		why = fmt.Sprintf("exhausted, not again before %s: %s", last.until.Format(time.TimeOnly), g.exhausted[0].Status.LastOperation.Description)
	}
	return g.exhausted, why
}

// choose returns the deployment that more nodes may come from: the one with the highest priority, and of these the first by name;
// nil if there is none. The priority expander takes any of those with the same priority.
func (s *Scaler) choose(groups []*group) *group {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g *group) bool {
		return s.pods.fit(g) == 0 || g.deployment.Spec.Replicas >= g.status.Maximum ||
			s.setbacks[g.status.Name].holds(s.now()) || !s.isGroupHealthy(g)
	})
	if len(groups) == 0 {
		return nil
	}
	return slices.MinFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.status.Name, b.status.Name))
	})
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

func (s *Scaler) settings() Settings {
	return cmp.Or(s.Settings, DefaultSettings)
}

func (s *Scaler) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock.Now()
}
