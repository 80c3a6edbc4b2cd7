// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// roll changes the pool's image as gardenlet does: the Secret of gardener-node-agent gets a new name, too.
func (d *demo) roll(ctx context.Context) error {
	before, err := d.poolMachines(ctx, pool)
	if err != nil {
		return err
	}
	imagesBefore, err := d.poolImages(ctx, before)
	if err != nil {
		return err
	}
	next, err := d.nextUserData(ctx)
	if err != nil {
		return err
	}
	if err := d.changeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
		p := poolOf(w)
		p.MachineImage.Version = nextImageVersion
		p.UserDataSecretRef.Name = next
		p.NodeAgentSecretName = &next
	}); err != nil {
		return err
	}
	if err := d.waitReconciled(ctx, &extensionsv1alpha1.Worker{}); err != nil {
		return err
	}
	if err := d.waitMachines(ctx, pool, d.size, before); err != nil {
		return err
	}
	return d.checkImages(ctx, imagesBefore)
}

// nextUserData writes the Secret with the user data of the pool's next machines and returns its name.
func (d *demo) nextUserData(ctx context.Context) (string, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := d.get(ctx, worker); err != nil {
		return "", err
	}
	current := &corev1.Secret{}
	if err := d.landscape.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: poolOf(worker).UserDataSecretRef.Name},
		current); err != nil {
		return "", err
	}
	next := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: current.Name + "-" + nextImageVersion, Namespace: namespace},
		Data:       current.Data,
	}
	return next.Name, d.landscape.Client.Create(ctx, next)
}

// checkImages fails if a server of the pool still has one of the images.
func (d *demo) checkImages(ctx context.Context, before sets.Set[string]) error {
	machines, err := d.poolMachines(ctx, pool)
	if err != nil {
		return err
	}
	after, err := d.poolImages(ctx, machines)
	if err != nil {
		return err
	}
	if after.HasAny(sets.List(before)...) {
		return fmt.Errorf("the servers of pool %s had the images %q and have %q now", pool, sets.List(before), sets.List(after))
	}
	d.screen.print(fmt.Sprintf("    the servers of pool %s have image %q instead of %q", pool, sets.List(after), sets.List(before)))
	return nil
}
