// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// playPeriod is how often machine deployments are looked at.
const playPeriod = 500 * time.Millisecond

// playMCM plays the machine-controller-managers of all shoots for machine deployments without machines: each gets a machine
// set and becomes available.
func playMCM(ctx context.Context, c client.Client) error {
	for sleep(ctx, playPeriod) == nil {
		deployments := &machinev1alpha1.MachineDeploymentList{}
		if err := c.List(ctx, deployments); err != nil {
			return ignoreEnd(ctx, err)
		}
		for i := range deployments.Items {
			deployment := &deployments.Items[i]
			if deployment.Status.ObservedGeneration == deployment.Generation {
				continue
			}
			if err := makeAvailable(ctx, c, deployment); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
	}
	return nil
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func makeAvailable(ctx context.Context, c client.Client, deployment *machinev1alpha1.MachineDeployment) error {
	if deployment.Spec.Replicas != 0 {
		return fmt.Errorf("machine deployment %s has %d replicas, want none", deployment.Name, deployment.Spec.Replicas)
	}
	set := &machinev1alpha1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: deployment.Name + "-0", Namespace: deployment.Namespace, Labels: deployment.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment,
				machinev1alpha1.SchemeGroupVersion.WithKind("MachineDeployment"))},
		},
		Spec: machinev1alpha1.MachineSetSpec{
			Selector: deployment.Spec.Selector, Template: deployment.Spec.Template,
			MachineClass: machinev1alpha1.ClassSpec{Kind: deployment.Spec.Template.Spec.Class.Kind, Name: deployment.Spec.Template.Spec.Class.Name},
		},
	}
	before := deployment.DeepCopy()
	deployment.Status.ObservedGeneration = deployment.Generation
	for _, kind := range []machinev1alpha1.MachineDeploymentConditionType{machinev1alpha1.MachineDeploymentAvailable,
		machinev1alpha1.MachineDeploymentProgressing} {
		deployment.Status.Conditions = append(deployment.Status.Conditions, machinev1alpha1.MachineDeploymentCondition{
			Type: kind, Status: machinev1alpha1.ConditionTrue, Reason: "Played", LastUpdateTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		})
	}
	return errors.Join(client.IgnoreAlreadyExists(c.Create(ctx, set)), c.Status().Patch(ctx, deployment, client.MergeFrom(before)))
}
