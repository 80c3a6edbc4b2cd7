// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package secret writes what machines are told at their first boot into Secrets of the inventory. A Secret has the name of its machine.
package secret

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// Write writes the Secret of the machine. It replaces what was written for the machine before. A Secret of that name that is another's
// is a conflict. Errors are classified.
func Write(ctx context.Context, c client.Client, o owner.Owner, machine string, secret *corev1.Secret) error {
	secret.Name = machine
	secret.Labels = merged(secret.Labels, o.MachineLabels(machine))
	err := c.Create(ctx, secret.DeepCopy())
	if !metalclient.IsAlreadyExists(err) {
		return metalclient.Classify(err)
	}
	existing := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(secret), existing); err != nil {
		return metalclient.Classify(err)
	}
	if !o.OwnsMachine(existing.Labels, machine) {
		return platform.NewError(platform.ClassConflict, "Secret %s/%s exists, but is not that of machine %q", secret.Namespace, machine, machine)
	}
	original := existing.DeepCopy()
	existing.Labels = merged(existing.Labels, secret.Labels)
	existing.OwnerReferences = secret.OwnerReferences
	existing.Data = secret.Data
	return metalclient.Classify(c.Patch(ctx, existing, client.MergeFrom(original)))
}

// Delete deletes the Secret of the machine. One that does not exist, or that is another's, is no error. Errors are classified.
func Delete(ctx context.Context, c client.Client, namespace string, o owner.Owner, machine string) error {
	existing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machine}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(existing), existing); err != nil {
		return metalclient.IgnoreNotFound(err)
	}
	if !o.OwnsMachine(existing.Labels, machine) {
		return nil
	}
	return metalclient.IgnoreNotFound(c.Delete(ctx, existing, client.Preconditions{UID: &existing.UID}))
}

func merged(labels, more map[string]string) map[string]string {
	result := maps.Clone(labels)
	if result == nil {
		result = map[string]string{}
	}
	maps.Copy(result, more)
	return result
}
