// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	operationsv1alpha1 "github.com/gardener/gardener/pkg/apis/operations/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// bastionKey is the public key of a user of bastions.
const bastionKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6V4GyQ1v0Jb2C5n2mU0mIu2Q8k0yQH4S9vM1jT3xYc user"

// NewBastion creates a bastion of the shoot in the garden, which is reached from a range of addresses.
func (s *Shoot) NewBastion(ctx context.Context, from string) (*operationsv1alpha1.Bastion, error) {
	bastion := &operationsv1alpha1.Bastion{
		ObjectMeta: metav1.ObjectMeta{Name: "jump", Namespace: garden.Namespace},
		Spec: operationsv1alpha1.BastionSpec{ShootRef: corev1.LocalObjectReference{Name: s.name}, SSHPublicKey: bastionKey,
			Ingress: ingressOf(from)},
	}
	return bastion, s.lab.Client.Create(ctx, bastion)
}

func ingressOf(from string) []operationsv1alpha1.BastionIngressPolicy {
	return []operationsv1alpha1.BastionIngressPolicy{{IPBlock: networkingv1.IPBlock{CIDR: from}}}
}

// WaitBastion waits until the bastion is ready as it is specified now.
func (l *Lab) WaitBastion(ctx context.Context, bastion *operationsv1alpha1.Bastion, tell func(string)) error {
	return l.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(bastion), bastion); err != nil {
			return false, "", err
		}
		status := bastion.Status
		i := slices.IndexFunc(status.Conditions, func(c gardencorev1beta1.Condition) bool { return c.Type == operationsv1alpha1.BastionReady })
		if i < 0 {
			return false, "waiting for gardenlet", nil
		}
		ready := status.Conditions[i].Status == gardencorev1beta1.ConditionTrue
		current := status.ObservedGeneration != nil && *status.ObservedGeneration == bastion.Generation
		return ready && current && status.Ingress != nil, fmt.Sprintf("bastion: %s", status.Conditions[i].Message), nil
	})
}

// bastionLifetime is how long a bastion lives after its last heartbeat, which gardener-apiserver computes.
const bastionLifetime = time.Hour

// ExpireBastion lets the bastion expire at a time, as if its last heartbeat had been an hour before, and be reached from another range of
// addresses: gardener-controller-manager looks at the time when the specification changes.
func (l *Lab) ExpireBastion(ctx context.Context, bastion *operationsv1alpha1.Bastion, at time.Time, from string) error {
	before := bastion.DeepCopy()
	bastion.Status.LastHeartbeatTimestamp = &metav1.Time{Time: at.Add(-bastionLifetime)}
	if err := l.Client.Status().Patch(ctx, bastion, client.MergeFrom(before)); err != nil {
		return err
	}
	before = bastion.DeepCopy()
	bastion.Spec.Ingress = ingressOf(from)
	return l.Client.Patch(ctx, bastion, client.MergeFrom(before))
}

// WaitNoBastion waits until the bastion is gone.
func (l *Lab) WaitNoBastion(ctx context.Context, bastion *operationsv1alpha1.Bastion, tell func(string)) error {
	return l.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		err := l.Client.Get(ctx, client.ObjectKeyFromObject(bastion), &operationsv1alpha1.Bastion{})
		return err != nil, "", client.IgnoreNotFound(err)
	})
}

// LeftAtCloud are the objects of the shoot on the OpenStack site whose descriptions contain a text, for people.
func (s *Shoot) LeftAtCloud(ctx context.Context, text string) ([]string, error) {
	objects, err := s.lab.OpenStack.Objects(ctx, s.TechnicalID())
	if err != nil {
		return nil, err
	}
	var result []string
	for _, o := range objects {
		if description := o.String(); strings.Contains(description, text) {
			result = append(result, description)
		}
	}
	return result, nil
}
