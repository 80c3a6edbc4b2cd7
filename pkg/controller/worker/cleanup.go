// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// machineFinalizers are those that machine-controller-manager puts on credentials that machine classes use.
var machineFinalizers = []string{"machine.sapcloud.io/machine-controller-manager", "machine.sapcloud.io/machine-controller"}

// cleanUp deletes the machine deployments of zones that no pool lists any more, and the machine classes and secrets that
// nothing uses any more. A class stays as long as a machine deployment, machine set or machine has it, so that an update can
// be taken back while it runs.
func (d *delegate) cleanUp(ctx context.Context, p *plan) error {
	objects, err := d.listMachineObjects(ctx)
	if err != nil {
		return err
	}

	var (
		listed      = sets.New[string]()
		usedClasses = sets.New[string]()
		usedSecrets = sets.New[string]()
	)
	p.zones(func(_ *pool, z *zone) {
		listed.Insert(z.deploymentName)
		if z.err == nil {
			usedClasses.Insert(z.className)
			usedSecrets.Insert(z.className)
		}
		if z.kept != nil {
			usedClasses.Insert(z.kept.className)
			usedSecrets.Insert(z.kept.secretName)
		}
	})

	for i := range objects.deployments.Items {
		deployment := &objects.deployments.Items[i]
		if listed.Has(deployment.Name) {
			usedClasses.Insert(deployment.Spec.Template.Spec.Class.Name)
			continue
		}
		if err := d.delete(ctx, deployment); err != nil {
			return err
		}
	}
	for _, machineSet := range objects.machineSets.Items {
		usedClasses.Insert(machineSet.Spec.Template.Spec.Class.Name)
	}
	for _, machine := range objects.machines.Items {
		usedClasses.Insert(machine.Spec.Class.Name)
	}
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		if usedClasses.Has(class.Name) {
			if class.SecretRef != nil {
				usedSecrets.Insert(class.SecretRef.Name)
			}
			continue
		}
		if err := d.delete(ctx, class); err != nil {
			return err
		}
	}

	secrets := &corev1.SecretList{}
	if err := d.client.List(ctx, secrets, client.InNamespace(d.worker.Namespace), machineClassSecretLabels); err != nil {
		return fmt.Errorf("listing secrets of machine classes: %w", err)
	}
	for i := range secrets.Items {
		if !usedSecrets.Has(secrets.Items[i].Name) {
			if err := d.delete(ctx, &secrets.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *delegate) delete(ctx context.Context, obj client.Object) error {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	d.log.Info("Deleting what is not wanted any more", "type", fmt.Sprintf("%T", obj), "name", obj.GetName())
	if err := client.IgnoreNotFound(d.client.Delete(ctx, obj)); err != nil {
		return fmt.Errorf("deleting %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

// nothingLeft reports whether there are no machine objects and machine-controller-manager does not hold the credentials. The
// generic actuator would wait for it to take hold of them first, and without a machine class it never does.
func (d *delegate) nothingLeft(ctx context.Context) (bool, error) {
	objects, err := d.listMachineObjects(ctx)
	if err != nil {
		return false, err
	}
	if !objects.empty() {
		return false, nil
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: d.worker.Spec.SecretRef.Namespace, Name: d.worker.Spec.SecretRef.Name}
	if err := d.reader.Get(ctx, key, secret); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the credentials: %w", err)
	}
	for _, finalizer := range machineFinalizers {
		if controllerutil.ContainsFinalizer(secret, finalizer) {
			return false, nil
		}
	}
	return true, nil
}

// deleteMachineClassSecrets deletes the secrets of all machine classes.
func (d *delegate) deleteMachineClassSecrets(ctx context.Context) error {
	if err := d.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(d.worker.Namespace), machineClassSecretLabels); err != nil {
		return fmt.Errorf("deleting secrets of machine classes: %w", err)
	}
	return nil
}

type machineObjects struct {
	deployments machinev1alpha1.MachineDeploymentList
	machineSets machinev1alpha1.MachineSetList
	machines    machinev1alpha1.MachineList
	classes     machinev1alpha1.MachineClassList
}

func (o *machineObjects) empty() bool {
	return len(o.deployments.Items)+len(o.machineSets.Items)+len(o.machines.Items)+len(o.classes.Items) == 0
}

// classNames returns the names of the machine classes that exist or are used.
func (o *machineObjects) classNames() sets.Set[string] {
	names := sets.New[string]()
	for _, class := range o.classes.Items {
		names.Insert(class.Name)
	}
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

// listMachineObjects reads from the API server, because what follows deletes.
func (d *delegate) listMachineObjects(ctx context.Context) (*machineObjects, error) {
	objects := &machineObjects{}
	for _, list := range []client.ObjectList{&objects.deployments, &objects.machineSets, &objects.machines, &objects.classes} {
		if err := d.reader.List(ctx, list, client.InNamespace(d.worker.Namespace)); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	return objects, nil
}
