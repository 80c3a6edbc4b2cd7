// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"cmp"
	"context"
	"slices"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
)

// vacant returns the nodes without pods: all that are not ready, and the youngest of the ready ones that the pods leave free.
func (s *Scaler) vacant(groups []*group) map[string]bool {
	type place struct {
		node node
		fit  int
	}
	vacant := map[string]bool{}
	var places []place
	for _, g := range groups {
		for _, n := range g.nodes.unready {
			vacant[n.machine.Name] = true
		}
		for _, n := range g.nodes.ready {
			places = append(places, place{n, s.pods.fit(g)})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(a.node.machine.CreationTimestamp.Compare(b.node.machine.CreationTimestamp.Time),
			cmp.Compare(a.node.machine.Name, b.node.machine.Name))
	})
	left := s.pods.Count
	for _, p := range places {
		if left == 0 || p.fit == 0 {
			vacant[p.node.machine.Name] = true
		}
		left = max(0, left-p.fit)
	}
	return vacant
}

// updateUnneeded remembers since when nodes have been unneeded. It does not matter whether they were ready all the time.
func (s *Scaler) updateUnneeded(groups []*group) {
	vacant, since := s.vacant(groups), map[string]time.Time{}
	for _, g := range groups {
		for _, n := range slices.Concat(g.nodes.ready, g.nodes.unready) {
			if !vacant[n.machine.Name] || g.neverUnneeded() || n.is(annotationScaleDownDisabled) {
				continue
			}
			first, ok := s.unneeded[n.machine.Name]
			if !ok {
				first = s.now()
			}
			since[n.machine.Name] = first
		}
	}
	s.unneeded = since
}

// scaleDown removes nodes that have been unneeded for long enough, as far as the minimum allows.
func (s *Scaler) scaleDown(ctx context.Context, groups []*group) ([]Action, error) {
	s.updateUnneeded(groups)
	if s.now().Before(s.raised.Add(s.settings().DelayAfterAdd)) {
		return nil, nil
	}
	var actions []Action
	left := maxRemovals
	for _, g := range groups {
		removable := append(s.removable(g.nodes.ready, g.duration(AnnotationUnneededTime, s.settings().UnneededTime)),
			s.removable(g.nodes.unready, g.duration(AnnotationUnreadyTime, s.settings().UnreadyTime))...)
		action, err := s.removeSome(ctx, g, removable[:min(len(removable), left)], "unneeded")
		if err != nil {
			return actions, err
		}
		if action != nil {
			actions = append(actions, *action)
			left -= int(action.From - action.To)
		}
	}
	return actions, nil
}

// removable returns the machines of the nodes that have been unneeded for longer than the time. Machines that machine-controller-manager
// replaces anyway are left to it.
func (s *Scaler) removable(nodes []node, after time.Duration) []machine {
	var machines []machine
	for _, n := range nodes {
		since, unneeded := s.unneeded[n.machine.Name]
		if unneeded && s.now().After(since.Add(after)) && n.machine.Status.CurrentStatus.Phase != machinev1alpha1.MachineFailed {
			machines = append(machines, n.machine)
		}
	}
	return machines
}

// removeSome removes as many of the machines as the minimum of the deployment allows.
func (s *Scaler) removeSome(ctx context.Context, g *group, machines []machine, why string) (*Action, error) {
	machines = machines[:min(len(machines), max(0, int(g.deployment.Spec.Replicas-g.status.Minimum)))]
	if len(machines) == 0 {
		return nil, nil
	}
	return s.remove(ctx, g, slices.Clone(machines), why)
}
