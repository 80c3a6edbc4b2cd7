// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package scaler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machineutils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type machine = machinev1alpha1.Machine

// group is a machine deployment of the Worker's status.
type group struct {
	status     extensionsv1alpha1.MachineDeployment
	deployment *machinev1alpha1.MachineDeployment
	class      *machinev1alpha1.MachineClass
	// machines are those whose deletion has not been requested.
	machines []machine
	// exhausted are those of machines that could not be created because the site is exhausted.
	exhausted []machine
	nodes     readiness
}

// groups reads the deployments of the Worker's status that exist.
func (s *Scaler) groups(ctx context.Context) ([]*group, error) {
	worker, all := &extensionsv1alpha1.Worker{}, &machinev1alpha1.MachineList{}
	if err := s.Seed.Get(ctx, s.Worker, worker); err != nil {
		return nil, fmt.Errorf("read the Worker: %w", err)
	}
	if err := s.Seed.List(ctx, all, client.InNamespace(s.Worker.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var groups []*group
	for _, status := range worker.Status.MachineDeployments {
		g := &group{status: status, deployment: &machinev1alpha1.MachineDeployment{}, class: &machinev1alpha1.MachineClass{}}
		if err := s.Seed.Get(ctx, client.ObjectKey{Namespace: s.Worker.Namespace, Name: status.Name}, g.deployment); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read a machine deployment: %w", err)
		}
		class := client.ObjectKey{Namespace: s.Worker.Namespace, Name: g.deployment.Spec.Template.Spec.Class.Name}
		if err := s.Seed.Get(ctx, class, g.class); err != nil {
			return nil, fmt.Errorf("read the machine class of %s: %w", status.Name, err)
		}
		if err := g.assign(all.Items); err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// assign takes the machines of the deployment.
func (g *group) assign(all []machine) error {
	selector, err := metav1.LabelSelectorAsSelector(g.deployment.Spec.Selector)
	if err != nil {
		return fmt.Errorf("%s: %w", g.status.Name, err)
	}
	for _, m := range all {
		if !selector.Matches(labels.Set(m.Labels)) || m.DeletionTimestamp != nil || m.Annotations[machineutils.MachinePriority] == "1" {
			continue
		}
		g.machines = append(g.machines, m)
		last := m.Status.LastOperation
		if last.Type == machinev1alpha1.MachineOperationCreate && last.State == machinev1alpha1.MachineStateFailed &&
			last.ErrorCode == codes.ResourceExhausted.String() {
			g.exhausted = append(g.exhausted, m)
		}
	}
	return nil
}

// priority is that of the Worker's status; as for the cluster-autoscaler, none is 0.
func (g *group) priority() int32 {
	if g.status.Priority == nil {
		return 0
	}
	return *g.status.Priority
}

// labels are those of the deployment's nodes.
func (g *group) labels() map[string]string {
	return g.deployment.Spec.Template.Spec.NodeTemplateSpec.Labels
}

// capacity is what the node template promises.
func (g *group) capacity() corev1.ResourceList {
	if g.class.NodeTemplate == nil {
		return nil
	}
	capacity := maps.Clone(g.class.NodeTemplate.Capacity)
	maps.Copy(capacity, g.class.NodeTemplate.VirtualCapacity)
	return capacity
}

// named are the machines with the names.
func (g *group) named(names []string) []machine {
	return slices.DeleteFunc(slices.Clone(g.machines), func(m machine) bool { return !slices.Contains(names, m.Name) })
}
