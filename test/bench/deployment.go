// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// look is the time between two looks at machines and servers.
	look = 200 * time.Millisecond
	// heartbeat is how often nodes report: nothing here depends on it.
	heartbeat = 5 * time.Minute
	// deploymentLabel has the name of the machine deployment of a machine.
	deploymentLabel = "name"
)

// deploy creates a machine deployment without machines on the site.
func (l *lab) deploy(ctx context.Context, c *cloud) error {
	spec, err := c.machineSpec(ctx, nil)
	if err != nil {
		return err
	}
	class, err := c.machineClass(l.deploymentName(), spec)
	if err != nil {
		return err
	}
	return l.deployClass(ctx, c.secret(), class)
}

// deployClass creates a machine deployment without machines of the class. It is named as the class.
func (l *lab) deployClass(ctx context.Context, secret *corev1.Secret, class *machinev1alpha1.MachineClass) error {
	labels := map[string]string{deploymentLabel: class.Name}
	for _, object := range []client.Object{secret, class, &machinev1alpha1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: class.Name, Namespace: l.namespace},
		Spec: machinev1alpha1.MachineDeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: machinev1alpha1.MachineDeploymentStrategy{
				Type: machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
				RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: machinev1alpha1.UpdateConfiguration{
					MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
				}},
			},
			Template: machinev1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: class.Name}},
			},
		},
	}} {
		if err := l.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T: %w", object, err)
		}
	}
	return nil
}

func (l *lab) deploymentName() string {
	return l.namespace + "-" + poolName
}

// scale changes the number of machines and waits until so many are running and no others are there. It returns when each was
// first seen running.
func (l *lab) scale(ctx context.Context, replicas int, timeout time.Duration) (map[string]time.Time, error) {
	sizes := map[string]int{l.deploymentName(): replicas}
	if err := l.resize(ctx, sizes); err != nil {
		return nil, err
	}
	return l.waitRunning(ctx, sizes, timeout)
}

// resize changes the numbers of machines of deployments.
func (l *lab) resize(ctx context.Context, sizes map[string]int) error {
	for name, replicas := range sizes {
		deployment := &machinev1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: l.namespace}}
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		if err := l.Client.Patch(ctx, deployment, patch); err != nil {
			return err
		}
	}
	return nil
}

// waitRunning waits until deployments have so many running machines and no others. It returns when each machine was first seen
// running.
func (l *lab) waitRunning(ctx context.Context, sizes map[string]int, timeout time.Duration) (map[string]time.Time, error) {
	running, last := map[string]time.Time{}, ""
	err := wait.PollUntilContextTimeout(ctx, look, timeout, true, func(ctx context.Context) (bool, error) {
		if err := l.Check(); err != nil {
			return false, err
		}
		machines := &machinev1alpha1.MachineList{}
		if err := l.Client.List(ctx, machines, client.InNamespace(l.namespace)); err != nil {
			return false, err
		}
		now, all, up := time.Now(), map[string]int{}, map[string]int{}
		for _, m := range machines.Items {
			deployment := m.Labels[deploymentLabel]
			all[deployment]++
			if m.Status.CurrentStatus.Phase != machinev1alpha1.MachineRunning {
				last = m.Status.LastOperation.Description
				continue
			}
			up[deployment]++
			if _, ok := running[m.Name]; !ok {
				running[m.Name] = now
			}
		}
		for deployment, replicas := range sizes {
			if all[deployment] != replicas || up[deployment] != replicas {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%v machines: %w; last operation: %s", sizes, err, last)
	}
	return running, nil
}
