// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/annotations"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machineutils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Action is a change of a deployment's size.
type Action struct {
	// Deployment is the name of the machine deployment.
	Deployment string
	// From and To are its replicas before and after.
	From, To int32
	// Why is the reason, for people.
	Why string
}

// String describes the change in one line.
func (a Action) String() string {
	return fmt.Sprintf("%s: %d -> %d, %s", a.Deployment, a.From, a.To, a.Why)
}

// raise adds machines to a deployment.
func (s *Scaler) raise(ctx context.Context, g *group, by int32) (*Action, error) {
	action, err := s.resize(ctx, g, by, nil, fmt.Sprintf("priority %d", g.priority()))
	if err != nil {
		return nil, err
	}
	if s.requests == nil {
		s.requests = map[string]*request{}
	}
	last := s.requests[g.status.Name]
	if last == nil {
		last = &request{}
		s.requests[g.status.Name] = last
	}
	s.raised = s.now()
	last.increase += int(by)
	last.until = s.raised.Add(g.duration(AnnotationMaxNodeProvisionTime, s.settings().MaxNodeProvisionTime))
	return action, nil
}

// remove makes a deployment smaller by these machines, which are named to machine-controller-manager as the cluster-autoscaler does.
func (s *Scaler) remove(ctx context.Context, g *group, machines []machine, why string) (*Action, error) {
	entries := annotations.GetMachineNamesWithDeletionTimesTriggeredForDeletion(g.deployment)
	for _, m := range machines {
		entries = append(entries, m.Name+"~"+timestamp())
		g.forget(m.Name)
	}
	marked := map[string]string{machineutils.TriggerDeletionByMCM: annotations.CreateMachinesTriggeredForDeletionAnnotValue(entries)}
	return s.resize(ctx, g, -int32(len(machines)), marked, why) // #nosec G115 -- a pool has few machines
}

// forget removes a machine that is about to be deleted from what is known about the deployment.
func (g *group) forget(name string) {
	is := func(m machine) bool { return m.Name == name }
	isNode := func(n node) bool { return n.machine.Name == name }
	g.exhausted, g.nodes.unregistered = slices.DeleteFunc(g.exhausted, is), slices.DeleteFunc(g.nodes.unregistered, is)
	g.nodes.overdue = slices.DeleteFunc(g.nodes.overdue, is)
	g.nodes.ready, g.nodes.unready = slices.DeleteFunc(g.nodes.ready, isNode), slices.DeleteFunc(g.nodes.unready, isNode)
}

// resize writes the replicas of a deployment, and annotations.
func (s *Scaler) resize(ctx context.Context, g *group, by int32, marks map[string]string, why string) (*Action, error) {
	before := g.deployment.DeepCopy()
	g.deployment.Spec.Replicas += by
	metav1.SetMetaDataAnnotation(&g.deployment.ObjectMeta, machineutils.LastDeploymentReplicaChangeByScalerTime, timestamp())
	maps.Copy(g.deployment.Annotations, marks)
	if err := s.Seed.Patch(ctx, g.deployment, client.MergeFrom(before)); err != nil {
		return nil, fmt.Errorf("resize %s: %w", g.status.Name, err)
	}
	return &Action{Deployment: g.status.Name, From: before.Spec.Replicas, To: g.deployment.Spec.Replicas, Why: why}, nil
}

// timestamp is the time as machine-controller-manager reads it.
func timestamp() string {
	return time.Now().UTC().Format(time.RFC3339)
}
