// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultClass is the annotation of the default storage class.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// waitControlPlane applies the ControlPlane with what the Infrastructure came to, as gardenlet does, and waits until all that it
// deploys is there and runs.
func (d *demo) waitControlPlane(ctx context.Context) error {
	infrastructure := &extensionsv1alpha1.Infrastructure{}
	if err := d.get(ctx, infrastructure); err != nil {
		return err
	}
	if infrastructure.Status.ProviderStatus == nil {
		return errors.New("the Infrastructure has no providerStatus")
	}
	if err := applyFile(ctx, d, d.example.folder+"30-controlplane.yaml", func(controlPlane *extensionsv1alpha1.ControlPlane) error {
		controlPlane.Spec.InfrastructureProviderStatus = infrastructure.Status.ProviderStatus
		return d.selection.controlPlane(controlPlane)
	}); err != nil {
		return err
	}
	if err := d.waitReconciled(ctx, &extensionsv1alpha1.ControlPlane{}); err != nil {
		return err
	}
	if err := d.wait(ctx, d.controlPlaneRuns); err != nil {
		return err
	}
	return d.printControlPlane(ctx)
}

// controlPlaneRuns reports whether what the ControlPlane deploys is applied and its Deployments in the seed are ready.
func (d *demo) controlPlaneRuns(ctx context.Context) (bool, string, error) {
	resources := &resourcesv1alpha1.ManagedResourceList{}
	if err := d.landscape.Client.List(ctx, resources, client.InNamespace(namespace)); err != nil {
		return false, err.Error(), nil
	}
	for _, r := range resources.Items {
		applied := slices.IndexFunc(r.Status.Conditions,
			func(c gardencorev1beta1.Condition) bool { return c.Type == resourcesv1alpha1.ResourcesApplied })
		if applied < 0 || r.Status.ObservedGeneration != r.Generation {
			return false, "waiting for ManagedResource " + r.Name, nil
		}
		if c := r.Status.Conditions[applied]; c.Status != gardencorev1beta1.ConditionTrue {
			return false, fmt.Sprintf("ManagedResource %s: %s", r.Name, c.Message), nil
		}
	}
	deployments := &appsv1.DeploymentList{}
	if err := d.landscape.Client.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return false, err.Error(), nil
	}
	for _, deployment := range deployments.Items {
		if deployment.Status.ReadyReplicas != *deployment.Spec.Replicas || deployment.Status.ObservedGeneration != deployment.Generation {
			return false, "waiting for Deployment " + deployment.Name, nil
		}
	}
	return len(deployments.Items) > 0, "waiting for Deployments", nil
}

// printControlPlane prints what the ControlPlane deployed in the seed, and what the shoot has for volumes.
func (d *demo) printControlPlane(ctx context.Context) error {
	deployments, classes, drivers := &appsv1.DeploymentList{}, &storagev1.StorageClassList{}, &storagev1.CSIDriverList{}
	if err := errors.Join(
		d.landscape.Client.List(ctx, deployments, client.InNamespace(namespace)),
		d.landscape.Client.List(ctx, classes),
		d.landscape.Client.List(ctx, drivers),
	); err != nil {
		return err
	}
	var rows [][]string
	for _, deployment := range deployments.Items {
		rows = append(rows,
			[]string{deployment.Name, fmt.Sprintf("%d/%d", deployment.Status.ReadyReplicas, *deployment.Spec.Replicas),
				d.realContainers(&deployment)})
	}
	d.printTable([]string{"DEPLOYMENT IN THE SEED", "READY", "CONTAINERS"}, rows)

	rows = nil
	for _, class := range classes.Items {
		mark := "-"
		if class.Annotations[defaultClass] == "true" {
			mark = "default"
		}
		rows = append(rows, []string{orDash(d.selection.classes[class.Name]), class.Name, mark, class.Provisioner, topologyOf(&class)})
	}
	d.printTable([]string{"SITE", "STORAGECLASS", "DEFAULT", "PROVISIONER", "NODES"}, rows)
	var names []string
	for _, driver := range drivers.Items {
		names = append(names, driver.Name)
	}
	d.screen.print("    CSI drivers: " + orDash(strings.Join(names, ", ")))
	return nil
}

// realContainers says which containers of a Deployment are processes, and which are only reported to run.
func (d *demo) realContainers(deployment *appsv1.Deployment) string {
	var result []string
	for _, container := range deployment.Spec.Template.Spec.Containers {
		name := container.Name
		if d.seed.Process(deployment.Name, name) == nil {
			name += " (played)"
		}
		result = append(result, name)
	}
	return strings.Join(result, ", ")
}

// topologyOf says which nodes volumes of the class are for.
func topologyOf(class *storagev1.StorageClass) string {
	var terms []string
	for _, term := range class.AllowedTopologies {
		for _, expression := range term.MatchLabelExpressions {
			terms = append(terms, expression.Key+"="+strings.Join(expression.Values, ","))
		}
	}
	return orDash(strings.Join(terms, " "))
}

// deleteControlPlane deletes the ControlPlane and waits until it is gone with all that it deployed, as gardenlet does.
func (d *demo) deleteControlPlane(ctx context.Context) error {
	if err := d.delete(ctx, &extensionsv1alpha1.ControlPlane{}); err != nil {
		return err
	}
	if err := d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		left, err := d.deployed(ctx)
		return err == nil && len(left) == 0, "waiting until these are gone: " + strings.Join(left, ", "), err
	}); err != nil {
		return err
	}
	d.screen.print("    no ManagedResource, Deployment, DaemonSet, StorageClass or CSIDriver is left")
	return nil
}

// deployed are the objects that are there because of the ControlPlane.
func (d *demo) deployed(ctx context.Context) ([]string, error) {
	var left []string
	for list, in := range map[client.ObjectList]string{
		&resourcesv1alpha1.ManagedResourceList{}: namespace, &appsv1.DeploymentList{}: namespace, &appsv1.DaemonSetList{}: metav1.NamespaceSystem,
		&storagev1.StorageClassList{}: "", &storagev1.CSIDriverList{}: "",
	} {
		if err := d.landscape.Client.List(ctx, list, client.InNamespace(in)); err != nil {
			return nil, err
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			left = append(left, strings.TrimPrefix(fmt.Sprintf("%T ", object), "*v1.")+object.GetName())
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(left)
	return left, nil
}
