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
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// delegate is what Gardener's generic actuator asks about one Worker.
type delegate struct {
	log      logr.Logger
	client   client.Client
	reader   client.Reader
	events   eventnote.Writer
	resolver resolver
	worker   *extensionsv1alpha1.Worker
	cluster  *extensionscontroller.Cluster
	// hashes are those that the status of the Worker had of pools that are updated in place.
	hashes map[string]string
	// needsAll makes a zone that cannot be resolved an error for all.
	needsAll bool
	// former are the machine classes that are written beside that of the zone, by machine deployments.
	former map[string]sets.Set[string]
	// formerSites are the sites of machines to be restored, by machine deployments.
	formerSites map[string]sets.Set[string]
	// deleting leaves out machine classes that nothing needs any more.
	deleting bool

	planned  *plan
	deployed bool
}

var (
	_ genericactuator.DelegateFactory = &delegate{}
	_ genericactuator.WorkerDelegate  = &delegate{}
)

// WorkerDelegate implements genericactuator.DelegateFactory. The delegate is for one Worker already.
func (d *delegate) WorkerDelegate(context.Context, *extensionsv1alpha1.Worker, *extensionscontroller.Cluster) (genericactuator.WorkerDelegate, error) {
	return d, nil
}

// GenerateMachineDeployments writes the machine classes and returns one machine deployment per pool and zone. The generic actuator
// lists the classes next. Of a machine deployment whose class is not among them it expects two machine sets until its machines
// are all replaced, but then the old one is gone already: it would wait until its time is over, in vain. A class that is there
// before makes it wait for the machine set with that class instead.
func (d *delegate) GenerateMachineDeployments(ctx context.Context) (worker.MachineDeployments, error) {
	p, err := d.plan(ctx)
	if err != nil {
		return nil, err
	}
	if d.needsAll {
		if err := d.unresolved(); err != nil {
			return nil, err
		}
	}
	if err := d.deployMachineClasses(ctx, p); err != nil {
		return nil, err
	}
	if err := d.waitForMachineClasses(ctx, p); err != nil {
		return nil, err
	}
	return d.machineDeployments(p), nil
}

// DeployMachineClasses writes the machine classes of all zones that could be resolved, unless that was done already.
func (d *delegate) DeployMachineClasses(ctx context.Context) error {
	p, err := d.plan(ctx)
	if err != nil {
		return err
	}
	return d.deployMachineClasses(ctx, p)
}

// UpdateMachineImagesStatus writes the machine images in use into the status of the Worker. The generic actuator calls it last
// before it waits for machines. So what no pool wants any more is removed here: behind that wait it would be removed only once
// the machines of all sites are well.
func (d *delegate) UpdateMachineImagesStatus(ctx context.Context) error {
	p, err := d.plan(ctx)
	if err != nil {
		return err
	}
	if err := d.updateMachineImagesStatus(ctx, p); err != nil {
		return err
	}
	if err := d.cleanUp(ctx, p); err != nil {
		return err
	}
	return d.forgetLastError(ctx)
}

// PreReconcileHook has nothing to do.
func (d *delegate) PreReconcileHook(context.Context) error { return nil }

// PostReconcileHook has nothing to do.
func (d *delegate) PostReconcileHook(context.Context) error { return nil }

// PreDeleteHook has nothing to do.
func (d *delegate) PreDeleteHook(context.Context) error { return nil }

// PostDeleteHook has nothing to do.
func (d *delegate) PostDeleteHook(context.Context) error { return nil }
