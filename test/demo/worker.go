// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const operationAnnotation = v1beta1constants.GardenerOperation

// waitInfrastructure waits until all sites have what machines need.
func (d *demo) waitInfrastructure(ctx context.Context) error {
	infrastructure := &extensionsv1alpha1.Infrastructure{}
	if err := d.waitReconciled(ctx, infrastructure); err != nil {
		return err
	}
	if infrastructure.Status.Networking != nil {
		d.screen.print(fmt.Sprintf("    node networks: %v", infrastructure.Status.Networking.Nodes))
	}
	return d.printObjects(ctx)
}

// waitWorker applies the Worker with what the Infrastructure came to, as gardenlet does, and waits until its machines run.
func (d *demo) waitWorker(ctx context.Context) error {
	infrastructure := &extensionsv1alpha1.Infrastructure{}
	if err := d.get(ctx, infrastructure); err != nil {
		return err
	}
	if infrastructure.Status.ProviderStatus == nil {
		return errors.New("the Infrastructure has no providerStatus")
	}
	if err := applyFile(ctx, d, d.example.folder+"30-worker.yaml", func(worker *extensionsv1alpha1.Worker) error {
		worker.Spec.InfrastructureProviderStatus = infrastructure.Status.ProviderStatus
		if err := d.selection.worker(worker); err != nil {
			return err
		}
		d.size = poolOf(worker).Minimum
		return nil
	}); err != nil {
		return err
	}
	if err := d.waitReconciled(ctx, &extensionsv1alpha1.Worker{}); err != nil {
		return err
	}
	return d.waitMachines(ctx, pool, d.size, nil)
}

// changeWorker changes the Worker and asks the extension to reconcile it.
func (d *demo) changeWorker(ctx context.Context, change func(*extensionsv1alpha1.Worker)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		worker := &extensionsv1alpha1.Worker{}
		if err := d.get(ctx, worker); err != nil {
			return err
		}
		change(worker)
		metav1.SetMetaDataAnnotation(&worker.ObjectMeta, operationAnnotation, v1beta1constants.GardenerOperationReconcile)
		return d.landscape.Client.Update(ctx, worker)
	})
}

func poolOf(w *extensionsv1alpha1.Worker) *extensionsv1alpha1.WorkerPool {
	return &w.Spec.Pools[slices.IndexFunc(w.Spec.Pools, func(p extensionsv1alpha1.WorkerPool) bool { return p.Name == pool })]
}

// scaleUp raises the pool's minimum.
func (d *demo) scaleUp(ctx context.Context) error {
	if err := d.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { poolOf(w).Minimum = 2 * d.size }); err != nil {
		return err
	}
	if err := d.waitReconciled(ctx, &extensionsv1alpha1.Worker{}); err != nil {
		return err
	}
	return d.waitMachines(ctx, pool, 2*d.size, nil)
}

// scaleDown lowers the pool's minimum, which removes no machine, and then does what the cluster-autoscaler would: it lowers
// the replicas of the machine deployments. The pool burst is emptied at the same time.
func (d *demo) scaleDown(ctx context.Context) error {
	if err := d.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) { poolOf(w).Minimum = d.size }); err != nil {
		return err
	}
	if err := d.waitReconciled(ctx, &extensionsv1alpha1.Worker{}); err != nil {
		return err
	}
	deployments := &machinev1alpha1.MachineDeploymentList{}
	if err := d.landscape.Client.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, deployment := range deployments.Items {
		if deployment.Spec.Template.Spec.NodeTemplateSpec.Labels[poolLabel] != pool {
			continue
		}
		scaled := deployment.DeepCopy()
		scaled.Spec.Replicas = deployment.Spec.Replicas / 2
		if err := d.landscape.Client.Patch(ctx, scaled, client.MergeFrom(&deployment)); err != nil {
			return err
		}
	}
	if err := d.drain(ctx); err != nil {
		return err
	}
	if err := d.waitMachines(ctx, pool, d.size, nil); err != nil {
		return err
	}
	return d.waitMachines(ctx, burst, 0, nil)
}
