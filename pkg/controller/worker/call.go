// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
)

// call is one call of the actuator.
type call struct {
	start  time.Time
	log    logr.Logger
	client client.Client
	// reader reads from the API server without a cache.
	reader  client.Reader
	events  eventnote.Writer
	worker  *extensionsv1alpha1.Worker
	cluster *extensionscontroller.Cluster
	// quarantinedSince are the times since which sites are in quarantine, by their names. Only reconciliations respect quarantines.
	quarantinedSince map[string]time.Time
}

// patchStatus patches the status of the Worker.
func (c *call) patchStatus(ctx context.Context, what string, change func(*extensionsv1alpha1.WorkerStatus)) error {
	patch := client.MergeFrom(c.worker.DeepCopy())
	change(&c.worker.Status)
	if err := c.client.Status().Patch(ctx, c.worker, patch); err != nil {
		return fmt.Errorf("%s the status of the Worker: %w", what, err)
	}
	return nil
}

type machineObjects struct {
	deployments machinev1alpha1.MachineDeploymentList
	machineSets machinev1alpha1.MachineSetList
	machines    machinev1alpha1.MachineList
	classes     machinev1alpha1.MachineClassList
}

// listMachineObjects reads without a cache, because its callers delete objects that are not used.
func (c *call) listMachineObjects(ctx context.Context) (*machineObjects, error) {
	objects := &machineObjects{}
	return objects, c.list(ctx, &objects.deployments, &objects.machineSets, &objects.machines, &objects.classes)
}

// list reads the lists without a cache.
func (c *call) list(ctx context.Context, lists ...client.ObjectList) error {
	for _, list := range lists {
		if err := c.reader.List(ctx, list, client.InNamespace(c.worker.Namespace)); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return nil
}

// usedClasses returns the names of the machine classes that machine deployments, machine sets and machines refer to.
func (o *machineObjects) usedClasses() sets.Set[string] {
	names := sets.New[string]()
	for _, deployment := range o.deployments.Items {
		names.Insert(deployment.Spec.Template.Spec.Class.Name)
	}
	for _, machineSet := range o.machineSets.Items {
		names.Insert(machineSet.Spec.Template.Spec.Class.Name)
	}
	for _, machine := range o.machines.Items {
		names.Insert(machine.Spec.Class.Name)
	}
	return names
}
