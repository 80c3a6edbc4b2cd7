// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package seedprovider is the webhook that gives members of etcds in a seed of type hybrid the volumes that the Seed configures.
package seedprovider

import (
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// WebhookName is the name of the webhook.
const WebhookName = controlplane.SeedProviderWebhookName

// New creates the webhook. While it does not answer, members of etcds that have no volume yet wait for it, and nothing else.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return controlplane.New(mgr, controlplane.Args{
		Kind:     controlplane.KindSeed,
		Provider: v1alpha1.ProviderType,
		Types:    []extensionswebhook.Type{{Obj: &corev1.PersistentVolumeClaim{}}},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			druidcorev1alpha1.LabelManagedByKey: druidcorev1alpha1.LabelManagedByValue,
		}},
		Mutator: NewMutator(mgr.GetClient(), mgr.GetAPIReader()),
	})
}
