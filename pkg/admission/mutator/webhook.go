// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package mutator defaults Shoots and the status of NamespacedCloudProfiles. It never changes a field that is set.
package mutator

import (
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// Name is the name of the webhook.
	Name = "mutator"
	// Path is the path of the webhook.
	Path = "/webhooks/mutate"
)

// New returns the webhook that mutates Shoots and the status of NamespacedCloudProfiles of the provider type.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return extensionswebhook.New(mgr, extensionswebhook.Args{
		Name: Name,
		Path: Path,
		Mutators: map[extensionswebhook.Mutator][]extensionswebhook.Type{
			NewShootMutator():                  {{Obj: &gardencorev1beta1.Shoot{}}},
			NewNamespacedCloudProfileMutator(): {{Obj: &gardencorev1beta1.NamespacedCloudProfile{}, Subresource: new("status")}},
		},
		Target: extensionswebhook.TargetSeed,
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1beta1constants.LabelExtensionProviderTypePrefix + v1alpha1.ProviderType: "true",
		}},
	})
}
