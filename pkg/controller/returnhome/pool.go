// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package returnhome

import (
	"cmp"
	"slices"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machineutils"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// defaultCreationTimeout is the default of machine-controller-manager.
	defaultCreationTimeout = 20 * time.Minute
	// neededThere is how long a machine stays that was created at a less preferred site after a machine of that site had moved: its pods may
	// only run there, for example because of their volumes.
	neededThere = 4 * time.Hour
)

// pool is a pool with its machine deployments.
type pool struct {
	name    string
	maximum int32
	// config is nil if the machines of the pool do not return.
	config *v1alpha1.ReturnHome
	// groups are the machine deployments of the pool, those with the highest priority first.
	groups []*group
	// changing is true if a machine deployment is being deleted, or is not in the status of the Worker yet.
	changing bool
}

// group is a machine deployment with its machines.
type group struct {
	deployment                 *machinev1alpha1.MachineDeployment
	site                       string
	minimum, maximum, priority int32
	machines                   []*machinev1alpha1.Machine
	// move is the move of a machine to the machine deployment.
	move move
	// returned is when the moves of machines of the machine deployment began, the last one at the end.
	returned []time.Time
}

// newPool returns the pool of the Worker with its machine deployments and machines. A configuration that cannot be decoded is reported by
// the worker controller.
func newPool(w *extensionsv1alpha1.Worker, spec *extensionsv1alpha1.WorkerPool, deployments []machinev1alpha1.MachineDeployment,
	machines []machinev1alpha1.Machine) *pool {
	p := &pool{name: spec.Name, maximum: spec.Maximum}
	if config, err := codec.Decode[v1alpha1.WorkerConfig](spec.ProviderConfig); err == nil {
		p.config = config.ReturnHome
	}
	for i := range deployments {
		d := &deployments[i]
		if d.Labels[v1beta1constants.LabelWorkerPool] != spec.Name {
			continue
		}
		status := slices.IndexFunc(w.Status.MachineDeployments,
			func(s extensionsv1alpha1.MachineDeployment) bool { return s.Name == d.Name })
		if status < 0 || d.DeletionTimestamp != nil {
			p.changing = true
			continue
		}
		numbers := w.Status.MachineDeployments[status]
		g := &group{
			deployment: d, site: d.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite],
			minimum: numbers.Minimum, maximum: numbers.Maximum, priority: ptr.Deref(numbers.Priority, 0),
			move: moveOf(d), returned: returnedOf(d),
		}
		for j := range machines {
			if machines[j].Labels[worker.LabelKeyMachineDeploymentName] == d.Name {
				g.machines = append(g.machines, &machines[j])
			}
		}
		p.groups = append(p.groups, g)
	}
	slices.SortStableFunc(p.groups, func(a, b *group) int {
		return cmp.Or(-cmp.Compare(a.priority, b.priority), cmp.Compare(a.deployment.Name, b.deployment.Name))
	})
	return p
}

// target returns the machine deployment that a machine is moving to, nil if none is moving.
func (p *pool) target() *group {
	if i := slices.IndexFunc(p.groups, func(g *group) bool { return g.move.Begun != nil }); i >= 0 {
		return p.groups[i]
	}
	return nil
}

// named returns the machine deployment with the name, nil if there is none.
func (p *pool) named(name string) *group {
	if i := slices.IndexFunc(p.groups, func(g *group) bool { return g.deployment.Name == name }); i >= 0 {
		return p.groups[i]
	}
	return nil
}

// isSettled returns whether the pool has exactly the desired machines, and all of them are up to date and run.
func (p *pool) isSettled() bool {
	return !p.changing && !slices.ContainsFunc(p.groups, func(g *group) bool {
		return len(g.machines) != int(g.deployment.Spec.Replicas) || slices.ContainsFunc(g.machines, func(m *machinev1alpha1.Machine) bool {
			return m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase != machinev1alpha1.MachineRunning ||
				m.Spec.Class.Name != g.deployment.Spec.Template.Spec.Class.Name
		})
	})
}

// replicas returns the number of desired machines of the pool.
func (p *pool) replicas() int32 {
	var sum int32
	for _, g := range p.groups {
		sum += g.deployment.Spec.Replicas
	}
	return sum
}

// isOnRate returns whether fewer machines have moved within the last hour than are allowed.
func (p *pool) isOnRate(now time.Time) bool {
	moved := int32(0)
	for _, g := range p.groups {
		for _, at := range g.returned {
			if now.Sub(at) < time.Hour {
				moved++
			}
		}
	}
	return moved < ptr.Deref(p.config.MachinesPerHour, 1)
}

// next returns a machine deployment that may have another machine, and the least preferred one that can give a machine back for it. They
// are nil if there are none. hasRoom returns whether the site of a machine deployment may have another machine.
func (p *pool) next(now time.Time, hasRoom func(*group) bool) (to, from *group) {
	if p.replicas() >= p.maximum {
		return nil, nil
	}
	for _, to := range p.groups {
		if to.deployment.Spec.Replicas >= to.maximum || to.move.RetryAfter != nil && now.Before(to.move.RetryAfter.Time) || !hasRoom(to) {
			continue
		}
		for _, from := range slices.Backward(p.groups) {
			if from.priority < to.priority && from.candidate(now) != nil {
				return to, from
			}
		}
	}
	return nil, nil
}

// candidate returns the oldest machine that can be given back, nil if there is none.
func (g *group) candidate(now time.Time) *machinev1alpha1.Machine {
	if g.deployment.Spec.Replicas <= g.minimum {
		return nil
	}
	var oldest *machinev1alpha1.Machine
	for _, m := range g.machines {
		created := m.CreationTimestamp.Time
		isNeeded := len(g.returned) > 0 && created.After(g.returned[len(g.returned)-1]) && now.Sub(created) < neededThere
		if isNeeded || m.Annotations[machineutils.PreserveMachineAnnotationKey] != "" {
			continue
		}
		if oldest == nil || created.Before(oldest.CreationTimestamp.Time) {
			oldest = m
		}
	}
	return oldest
}

// awaited returns the newest machine that has not run yet, and preferably one that the site has no room for. It is nil if there is none.
func (g *group) awaited() *machinev1alpha1.Machine {
	var awaited *machinev1alpha1.Machine
	for _, m := range g.machines {
		hasRun := !slices.Contains([]machinev1alpha1.MachinePhase{"", machinev1alpha1.MachinePending, machinev1alpha1.MachineAvailable,
			machinev1alpha1.MachineCrashLoopBackOff}, m.Status.CurrentStatus.Phase)
		if hasRun || isLeaving(m) {
			continue
		}
		if awaited == nil || isExhausted(m) && !isExhausted(awaited) ||
			isExhausted(m) == isExhausted(awaited) && m.CreationTimestamp.After(awaited.CreationTimestamp.Time) {
			awaited = m
		}
	}
	return awaited
}

// staying returns the number of machines that are not being deleted.
func (g *group) staying() int32 {
	var staying int32
	for _, m := range g.machines {
		if !isLeaving(m) {
			staying++
		}
	}
	return staying
}

func (g *group) creationTimeout() time.Duration {
	if configuration := g.deployment.Spec.Template.Spec.MachineConfiguration; configuration != nil &&
		configuration.MachineCreationTimeout != nil {
		return configuration.MachineCreationTimeout.Duration
	}
	return defaultCreationTimeout
}

// isLeaving returns whether the machine is being deleted, or was named to machine-controller-manager by the cluster-autoscaler.
func isLeaving(m *machinev1alpha1.Machine) bool {
	return m.DeletionTimestamp != nil || machineutils.IsMachineTriggeredForDeletion(m)
}

// isExhausted returns whether the machine cannot be created because its site has no room.
func isExhausted(m *machinev1alpha1.Machine) bool {
	last := m.Status.LastOperation
	return last.Type == machinev1alpha1.MachineOperationCreate && last.State == machinev1alpha1.MachineStateFailed &&
		last.ErrorCode == codes.ResourceExhausted.String()
}
