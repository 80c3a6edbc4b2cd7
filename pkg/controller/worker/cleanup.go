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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// reasonNotCleanedUp is the reason of events about sites that could not be cleaned up.
const reasonNotCleanedUp = "SiteNotCleanedUp"

// machineFinalizers are the finalizers of machine-controller-manager on credentials that machine classes use.
var machineFinalizers = []string{"machine.sapcloud.io/machine-controller-manager", "machine.sapcloud.io/machine-controller"}

// cleanUp deletes the machine deployments of zones that no pool has, and unused machine classes and their secrets. A class is in use as
// long as a machine deployment, machine set or machine refers to it, so that a running update can be reverted.
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
		if z.retained != nil {
			usedClasses.Insert(z.retained.className)
			usedSecrets.Insert(z.retained.secretName)
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
		c.log.Info("Deleting unused object", "type", fmt.Sprintf("%T", obj), "name", obj.GetName())
		if err := client.IgnoreNotFound(c.client.Delete(ctx, obj)); err != nil {
			return fmt.Errorf("deleting %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

// nothingLeft returns whether there are neither machine objects nor finalizers of machine-controller-manager on the credentials. The
// generic actuator would wait for the finalizers to be added first, which does not happen without a machine class.
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

// needed returns the machine classes that exist or are in use. If a repeated deletion recreated the others, it would also recreate their
// secrets, which machine-controller-manager may not release for minutes.
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

// cleanUpSites deletes the objects that sites have for pools and no machine needs. It returns the errors of sites separately: the next
// reconciliation, or the deletion of the Infrastructure, finds the same objects. Sites in quarantine are left alone.
func cleanUpSites(ctx context.Context, c *call, r resolver, f *facts, zones []*resolved) (siteErr, err error) {
	inUse, err := specsInUse(ctx, c, zones)
	if err != nil {
		return nil, err
	}
	sites := slices.DeleteFunc(slices.Clone(f.sites), func(s site.Site) bool { return f.quarantines.errOf(s.Name) != nil })
	return r.cleanUp(ctx, sites, inUse), nil
}

// cleanUpSitesAfterDeletion deletes all objects that sites have for pools, best effort: the deletion of the Infrastructure comes next,
// finds the same objects and decides when a site may be given up.
func cleanUpSitesAfterDeletion(ctx context.Context, c *call, r resolver) {
	d := readDocuments(ctx, c)
	if d.err != nil {
		c.log.Error(d.err, "Some sites that may have objects of pools are unknown")
	}
	if err := r.cleanUp(ctx, d.sites, nil); err != nil {
		c.log.Error(err, "Some sites could not be cleaned up")
		c.events.Warning(c.worker, reasonNotCleanedUp, "Delete", "%v", err)
	}
}

// specsInUse returns the provider specs of all current and future machines: those of the zones, and of the classes that machine
// deployments, machine sets with replicas and machines refer to.
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
		if z.retained != nil {
			used.Insert(z.retained.className)
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
