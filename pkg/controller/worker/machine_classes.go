// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/utils/flow"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// fieldOwner owns the fields of machine classes and their secrets. Finalizers are machine-controller-manager's.
const fieldOwner = client.FieldOwner("gardener-extension-provider-hybrid-worker")

// userDataKey is the key of the user data in the secret of a machine class.
const userDataKey = "userData"

// machineClassSecretLabels mark the secrets of machine classes.
var machineClassSecretLabels = client.MatchingLabels{v1beta1constants.GardenerPurpose: v1beta1constants.GardenPurposeMachineClass}

// cacheTimeout is how long the cache may take to show what was written.
const cacheTimeout = 10 * time.Second

// deployMachineClasses writes the machine class of each zone that could be resolved, and before it its secret. It does so once.
func (d *delegate) deployMachineClasses(ctx context.Context, p *plan) error {
	if d.deployed {
		return nil
	}
	needed, err := d.neededClasses(ctx)
	if err != nil {
		return err
	}
	var (
		tasks []flow.TaskFn
		errs  []error
	)
	p.zones(func(pool *pool, z *zone) {
		if z.err != nil || !needed(z.className) {
			return
		}
		for name := range d.former[z.deploymentName].Clone().Insert(z.className) {
			class, err := d.machineClass(pool, z, name)
			if err != nil {
				errs = append(errs, err)
				return
			}
			secret := d.machineClassSecret(pool, name)
			tasks = append(tasks, func(ctx context.Context) error { return d.apply(ctx, secret, class) })
		}
	})
	err = errors.Join(errors.Join(errs...), flow.ParallelN(genericactuator.MaxConcurrentMachineTasks, tasks...)(ctx))
	d.deployed = err == nil
	return err
}

func (d *delegate) apply(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		if err := d.client.Patch(ctx, obj, client.Apply, fieldOwner, client.ForceOwnership); err != nil { //nolint:staticcheck // The objects have no apply configurations.
			return fmt.Errorf("applying %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

// neededClasses returns which machine classes are written: all, but those that exist or are used in a deletion. A class that came
// back in a repeated deletion would bring the secret back, too, and machine-controller-manager may hold that for minutes.
func (d *delegate) neededClasses(ctx context.Context) (func(name string) bool, error) {
	if !d.deleting {
		return func(string) bool { return true }, nil
	}
	objects, err := d.listMachineObjects(ctx)
	if err != nil {
		return nil, err
	}
	return objects.classNames().Has, nil
}

// waitForMachineClasses waits until the cache has the machine classes of all zones that could be resolved.
func (d *delegate) waitForMachineClasses(ctx context.Context, p *plan) error {
	var missing []string
	p.zones(func(_ *pool, z *zone) {
		if z.err == nil {
			missing = append(missing, z.className)
		}
	})
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, cacheTimeout, true, func(ctx context.Context) (bool, error) {
		classes := &machinev1alpha1.MachineClassList{}
		if err := d.client.List(ctx, classes, client.InNamespace(d.worker.Namespace)); err != nil {
			return false, err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return slices.ContainsFunc(classes.Items, func(c machinev1alpha1.MachineClass) bool { return c.Name == name })
		})
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for machine classes %q: %w", missing, err)
	}
	return nil
}

func (d *delegate) machineClass(p *pool, z *zone, name string) (*machinev1alpha1.MachineClass, error) {
	spec, err := codec.Encode(z.spec)
	if err != nil {
		return nil, fmt.Errorf("pool %q in zone %q: %w", p.spec.Name, z.name, err)
	}
	return &machinev1alpha1.MachineClass{
		TypeMeta: metav1.TypeMeta{
			APIVersion: machinev1alpha1.SchemeGroupVersion.String(),
			Kind:       "MachineClass",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: d.worker.Namespace,
			Labels: map[string]string{
				v1beta1constants.LabelWorkerPool: p.spec.Name,
				v1alpha1.LabelSite:               z.siteName,
			},
		},
		NodeTemplate: d.nodeTemplate(p, z),
		CredentialsSecretRef: &corev1.SecretReference{
			Name:      d.worker.Spec.SecretRef.Name,
			Namespace: d.worker.Spec.SecretRef.Namespace,
		},
		SecretRef: &corev1.SecretReference{
			Name:      name,
			Namespace: d.worker.Namespace,
		},
		Provider:     v1alpha1.ProviderType,
		ProviderSpec: *spec,
	}, nil
}

func (d *delegate) machineClassSecret(p *pool, name string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{
			APIVersion: corev1.SchemeGroupVersion.String(),
			Kind:       "Secret",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: d.worker.Namespace,
			Labels:    maps.Clone(machineClassSecretLabels),
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{userDataKey: p.userData},
	}
}
