// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"slices"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// reasonNotCleanedUp is the reason of the events about sites that keep something which no pool needs any more.
const reasonNotCleanedUp = "SiteNotCleanedUp"

// machineFinalizers are those that machine-controller-manager puts on credentials that machine classes use.
var machineFinalizers = []string{"machine.sapcloud.io/machine-controller-manager", "machine.sapcloud.io/machine-controller"}

// cleanUp deletes the machine deployments of zones that no pool lists any more, and the machine classes and secrets that
// nothing uses any more. A class stays as long as a machine deployment, machine set or machine has it, so that an update can
// be taken back while it runs.
func cleanUp(ctx context.Context, c *call, zones []*resolved) error {
	objects, err := c.listMachineObjects(ctx)
	if err != nil {
		return err
	}
	var (
		unwanted    []client.Object
		listed      = sets.New[string]()
		usedClasses = sets.New[string]()
		usedSecrets = sets.New[string]()
	)
	for _, z := range zones {
		listed.Insert(z.deploymentName)
		if z.err == nil {
			usedClasses.Insert(z.className)
			usedSecrets.Insert(z.className)
		}
		if z.kept != nil {
			usedClasses.Insert(z.kept.className)
			usedSecrets.Insert(z.kept.secretName)
		}
	}

	deployments := objects.deployments.Items
	objects.deployments.Items = nil
	for i := range deployments {
		if listed.Has(deployments[i].Name) {
			objects.deployments.Items = append(objects.deployments.Items, deployments[i])
		} else {
			unwanted = append(unwanted, &deployments[i])
		}
	}
	usedClasses = usedClasses.Union(objects.usedClasses())
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		switch {
		case !usedClasses.Has(class.Name):
			unwanted = append(unwanted, class)
		case class.SecretRef != nil:
			usedSecrets.Insert(class.SecretRef.Name)
		}
	}
	secrets := &corev1.SecretList{}
	if err := c.client.List(ctx, secrets, client.InNamespace(c.worker.Namespace), machineClassSecretLabels); err != nil {
		return fmt.Errorf("listing secrets of machine classes: %w", err)
	}
	for i := range secrets.Items {
		if !usedSecrets.Has(secrets.Items[i].Name) {
			unwanted = append(unwanted, &secrets.Items[i])
		}
	}

	for _, obj := range unwanted {
		if obj.GetDeletionTimestamp() != nil {
			continue
		}
		c.log.Info("Deleting what is not wanted any more", "type", fmt.Sprintf("%T", obj), "name", obj.GetName())
		if err := client.IgnoreNotFound(c.client.Delete(ctx, obj)); err != nil {
			return fmt.Errorf("deleting %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

// nothingLeft reports whether there are no machine objects and machine-controller-manager does not hold the credentials. The
// generic actuator would wait for it to take hold of them first, and without a machine class it never does.
func nothingLeft(ctx context.Context, c *call) (bool, error) {
	objects, err := c.listMachineObjects(ctx)
	if err != nil || len(objects.deployments.Items)+len(objects.machineSets.Items)+len(objects.machines.Items)+len(objects.classes.Items) > 0 {
		return false, err
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.worker.Spec.SecretRef.Namespace, Name: c.worker.Spec.SecretRef.Name}
	if err := c.reader.Get(ctx, key, secret); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the credentials: %w", err)
	}
	return !slices.ContainsFunc(machineFinalizers, func(f string) bool { return controllerutil.ContainsFinalizer(secret, f) }), nil
}

// deleteMachineClassSecrets deletes the secrets of all machine classes.
func deleteMachineClassSecrets(ctx context.Context, c *call) error {
	if err := c.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(c.worker.Namespace), machineClassSecretLabels); err != nil {
		return fmt.Errorf("deleting secrets of machine classes: %w", err)
	}
	return nil
}

// needed returns those of the machine classes that exist or are used. A class that came back in a repeated deletion would bring the
// secret back, too, and machine-controller-manager may hold that for minutes.
func needed(ctx context.Context, c *call, classes []machineClass) ([]machineClass, error) {
	objects, err := c.listMachineObjects(ctx)
	if err != nil {
		return nil, err
	}
	names := objects.usedClasses()
	for _, class := range objects.classes.Items {
		names.Insert(class.Name)
	}
	return slices.DeleteFunc(slices.Clone(classes), func(m machineClass) bool { return !names.Has(m.class.Name) }), nil
}

// cleanUpSites deletes what sites have for pools that no machine needs any more. It returns apart what sites could not be asked to delete: the
// next reconciliation, or the deletion of the Infrastructure, finds the same objects.
func cleanUpSites(ctx context.Context, c *call, r resolver, f *facts, zones []*resolved) (left, err error) {
	inUse, err := specsInUse(ctx, c, zones)
	if err != nil {
		return nil, err
	}
	return r.cleanUp(ctx, f.sites, inUse), nil
}

// cleanUpSitesAfterDeletion deletes all that sites have for pools. A site that cannot be cleaned up keeps no Worker from being
// deleted: the deletion of the Infrastructure comes next, finds the same objects and knows when a site may be given up.
func cleanUpSitesAfterDeletion(ctx context.Context, c *call, r resolver) {
	d := readDocuments(ctx, c)
	if d.err != nil {
		c.log.Error(d.err, "Not all sites are known that may have something for pools")
	}
	if err := r.cleanUp(ctx, d.sites, nil); err != nil {
		c.log.Error(err, "Not all sites could be cleaned up")
		c.events.Warning(c.worker, reasonNotCleanedUp, "Delete", "%v", err)
	}
}

// specsInUse returns the provider specs of all machines that there are or will be: those of the zones, and of the classes that machine
// deployments, machine sets with replicas and machines have.
func specsInUse(ctx context.Context, c *call, zones []*resolved) ([]*v1alpha1.MachineProviderSpec, error) {
	objects, err := c.listMachineObjects(ctx)
	if err != nil {
		return nil, err
	}
	isEmpty := func(s machinev1alpha1.MachineSet) bool { return s.Spec.Replicas == 0 }
	objects.machineSets.Items = slices.DeleteFunc(objects.machineSets.Items, isEmpty)
	var (
		specs []*v1alpha1.MachineProviderSpec
		used  = objects.usedClasses()
	)
	for _, z := range zones {
		if z.err == nil {
			specs = append(specs, z.machineSpec)
		}
		if z.kept != nil {
			used.Insert(z.kept.className)
		}
	}
	for i := range objects.classes.Items {
		class := &objects.classes.Items[i]
		if !used.Has(class.Name) {
			continue
		}
		spec, err := codec.Decode[v1alpha1.MachineProviderSpec](&class.ProviderSpec)
		if err != nil {
			return nil, fmt.Errorf("machine class %s: %w", class.Name, err)
		}
		specs = append(specs, spec)
	}
	return specs, nil
}
