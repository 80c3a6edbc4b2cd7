// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

// delegate is what Gardener's generic actuator asks about one Worker.
type delegate struct {
	*call

	facts *facts
	zones []*resolved
	// classes are the machine classes that are not written yet.
	classes []machineClass
}

var (
	_ genericactuator.DelegateFactory = &delegate{}
	_ genericactuator.WorkerDelegate  = &delegate{}
)

// newDelegate reads the facts, plans the zones, asks their sites and makes the machine classes. Its error is one of the seed; what is
// wrong with a pool, a zone or a site is the error of the zones that it is about.
func newDelegate(ctx context.Context, c *call, r resolver, before former) (*delegate, error) {
	f, err := readFacts(ctx, c, before)
	if err != nil {
		return nil, err
	}
	zones := r.resolve(ctx, f, plan(f))
	tellUnresolved(c, zones)
	return &delegate{call: c, facts: f, zones: zones, classes: machineClasses(f, zones)}, nil
}

// WorkerDelegate implements genericactuator.DelegateFactory. The delegate is for one Worker already.
func (d *delegate) WorkerDelegate(context.Context, *extensionsv1alpha1.Worker,
	*extensionscontroller.Cluster) (genericactuator.WorkerDelegate, error) {
	return d, nil
}

// GenerateMachineDeployments writes the machine classes and returns one machine deployment per pool and zone. The generic actuator
// lists the classes next. Of a machine deployment whose class is not among them it expects two machine sets until its machines
// are all replaced, but then the old one is gone already: it would wait until its time is over, in vain. A class that is there
// before makes it wait for the machine set with that class instead.
func (d *delegate) GenerateMachineDeployments(ctx context.Context) (worker.MachineDeployments, error) {
	if err := d.DeployMachineClasses(ctx); err != nil {
		return nil, err
	}
	if err := waitForMachineClasses(ctx, d.call, d.zones); err != nil {
		return nil, err
	}
	return machineDeployments(d.zones), nil
}

// DeployMachineClasses writes the machine classes of all zones that could be resolved, unless that was done already.
func (d *delegate) DeployMachineClasses(ctx context.Context) error {
	if err := apply(ctx, d.client, d.classes); err != nil {
		return err
	}
	d.classes = nil
	return nil
}

// UpdateMachineImagesStatus writes the machine images in use into the status of the Worker. The generic actuator calls it last
// before it waits for machines. So what no pool wants any more is removed here: behind that wait it would be removed only once
// the machines of all sites are well.
func (d *delegate) UpdateMachineImagesStatus(ctx context.Context) error {
	if err := updateMachineImagesStatus(ctx, d.call, d.zones); err != nil {
		return err
	}
	if err := cleanUp(ctx, d.call, d.zones); err != nil {
		return err
	}
	return forgetLastError(ctx, d.call, d.zones)
}

// PreReconcileHook has nothing to do.
func (d *delegate) PreReconcileHook(context.Context) error { return nil }

// PostReconcileHook has nothing to do.
func (d *delegate) PostReconcileHook(context.Context) error { return nil }

// PreDeleteHook has nothing to do.
func (d *delegate) PreDeleteHook(context.Context) error { return nil }

// PostDeleteHook has nothing to do.
func (d *delegate) PostDeleteHook(context.Context) error { return nil }
