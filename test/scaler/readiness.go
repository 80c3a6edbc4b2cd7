// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"context"
	"fmt"
	"slices"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// node is a machine with its Node, which is nil if the nodes are not known.
type node struct {
	machine machine
	node    *corev1.Node
}

func (n node) is(annotation string) bool {
	return n.node != nil && n.node.Annotations[annotation] == "true"
}

// readiness is what the machines of a deployment have become.
type readiness struct {
	// ready and unready nodes have been ready; those that have not yet are starting.
	ready, unready, starting []node
	// unregistered machines have no node yet, overdue ones have had none for longer than MaxNodeProvisionTime.
	unregistered, overdue []machine
}

// nodes returns the shoot's nodes by name, nil if they are not known.
func (s *Scaler) nodes(ctx context.Context) (map[string]*corev1.Node, error) {
	if s.Shoot == nil {
		return nil, nil
	}
	list := &corev1.NodeList{}
	if err := s.Shoot.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	nodes := map[string]*corev1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	return nodes, nil
}

// classify determines the readiness of the deployments, and remembers since when machines have been without a node. Without nodes, all
// machines are ready that have been created.
func (s *Scaler) classify(groups []*group, nodes map[string]*corev1.Node) {
	now, since := s.now(), map[string]time.Time{}
	for _, g := range groups {
		for _, m := range g.machines {
			n := node{machine: m, node: nodes[m.Labels[machinev1alpha1.NodeLabelKey]]}
			state := nodeMissing
			switch {
			case n.node != nil:
				state = s.readinessOf(n.node)
			case nodes == nil && isCreated(m):
				state = nodeReady
			}
			switch state {
			case nodeReady:
				g.nodes.ready = append(g.nodes.ready, n)
			case nodeStarting:
				g.nodes.starting = append(g.nodes.starting, n)
			case nodeUnready:
				g.nodes.unready = append(g.nodes.unready, n)
			case nodeMissing:
				first, ok := s.unregistered[m.Name]
				if !ok {
					first = now
				}
				since[m.Name] = first
				if now.After(first.Add(g.duration(AnnotationMaxNodeProvisionTime, s.settings().MaxNodeProvisionTime))) {
					g.nodes.overdue = append(g.nodes.overdue, m)
				} else {
					g.nodes.unregistered = append(g.nodes.unregistered, m)
				}
			}
		}
	}
	s.unregistered = since
}

func isCreated(m machine) bool {
	switch m.Status.CurrentStatus.Phase {
	case "", machinev1alpha1.MachinePending, machinev1alpha1.MachineCrashLoopBackOff:
		return false
	}
	return true
}

// state is the readiness of a node.
type state int

const (
	nodeMissing state = iota
	nodeReady
	nodeStarting
	nodeUnready
)

func (s *Scaler) readinessOf(n *corev1.Node) state {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case ready:
		return nodeReady
	case s.now().Before(n.CreationTimestamp.Add(s.settings().MaxNodeStartupTime)):
		return nodeStarting
	default:
		return nodeUnready
	}
}

// usable returns the number of nodes that pods may be on, now or later: those that are ready and those that are yet to come.
func (g *group) usable() int {
	return max(len(g.nodes.ready), int(g.deployment.Spec.Replicas)-len(g.nodes.unready)-len(g.nodes.overdue))
}

// isUpcoming returns whether more nodes are yet to come.
func (g *group) isUpcoming() bool {
	return int(g.deployment.Spec.Replicas) > len(g.nodes.ready)+len(g.nodes.unready)
}

// isHealthy returns whether the share of unready nodes is accepted. All nodes count, also those of machines that are being deleted.
func (s *Scaler) isHealthy(nodes map[string]*corev1.Node) bool {
	unready := 0
	for _, n := range nodes {
		if s.readinessOf(n) == nodeUnready {
			unready++
		}
	}
	return s.accepts(unready, len(nodes))
}

// isGroupHealthy returns whether a deployment lacks few enough ready nodes, without those that were just asked for.
func (s *Scaler) isGroupHealthy(g *group) bool {
	lacking := int(g.deployment.Spec.Replicas) - len(g.nodes.overdue) - len(g.nodes.ready)
	if request := s.requests[g.status.Name]; request != nil {
		lacking -= request.increase
	}
	return s.accepts(lacking, len(g.nodes.ready)+len(g.nodes.unready)+len(g.nodes.starting))
}

func (s *Scaler) accepts(unready, all int) bool {
	return unready <= okTotalUnready || 100*unready <= s.settings().MaxTotalUnreadyPercentage*all
}
