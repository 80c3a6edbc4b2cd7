// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/extensions"
	"github.com/gardener/gardener/pkg/utils/gardener/shootstate"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MoveMachines does what gardenlet does with the machines of a shoot that moves to another seed, between the migration of its Worker and
// the restoration: it ends machine-controller-manager, saves the ShootState in the garden, deletes the machines' objects without the
// machines, and gives the Worker their state.
func (s *Shoot) MoveMachines(ctx context.Context, tell func(string)) error {
	if err := s.endMachineControllerManager(ctx, tell); err != nil {
		return err
	}
	shoot, err := s.Get(ctx)
	if err != nil {
		return err
	}
	if err := shootstate.Deploy(ctx, clock.RealClock{}, s.lab.Client, s.lab.SeedClient, shoot, s.TechnicalID(), true); err != nil {
		return fmt.Errorf("save the ShootState: %w", err)
	}
	for _, list := range []client.ObjectList{
		&machinev1alpha1.MachineList{}, &machinev1alpha1.MachineSetList{}, &machinev1alpha1.MachineDeploymentList{},
		&machinev1alpha1.MachineClassList{},
	} {
		if err := s.forget(ctx, list); err != nil {
			return err
		}
	}
	state := &gardencorev1beta1.ShootState{}
	if err := s.lab.Client.Get(ctx, client.ObjectKeyFromObject(shoot), state); err != nil {
		return err
	}
	worker := &extensionsv1alpha1.Worker{}
	if err := s.lab.SeedClient.Get(ctx, client.ObjectKey{Namespace: s.TechnicalID(), Name: s.name}, worker); err != nil {
		return err
	}
	return extensions.RestoreWorkerState(ctx, s.lab.SeedClient, state, worker)
}

func (s *Shoot) endMachineControllerManager(ctx context.Context, tell func(string)) error {
	name := v1beta1constants.DeploymentNameMachineControllerManager
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.TechnicalID(), Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
	if err := s.lab.SeedClient.Patch(ctx, deployment, patch); err != nil {
		return fmt.Errorf("end %s: %w", name, err)
	}
	return s.lab.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		pods := &corev1.PodList{}
		err := s.lab.SeedClient.List(ctx, pods, client.InNamespace(s.TechnicalID()), client.MatchingLabels{v1beta1constants.LabelRole: name})
		return len(pods.Items) == 0, "waiting until " + name + " has ended", err
	})
}

// forget deletes all objects of a kind in the namespace of the shoot, whatever their finalizers wait for.
func (s *Shoot) forget(ctx context.Context, list client.ObjectList) error {
	if err := s.lab.SeedClient.List(ctx, list, client.InNamespace(s.TechnicalID())); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", item)
		}
		before := object.DeepCopyObject().(client.Object)
		object.SetFinalizers(nil)
		if err := s.lab.SeedClient.Patch(ctx, object, client.MergeFrom(before)); err != nil {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(s.lab.SeedClient.Delete(ctx, object))
	})
}
