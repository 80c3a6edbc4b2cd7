// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package network is the webhook that sets the MTU of the pod network of a shoot of type hybrid to one that the node networks of all sites
// support, and enables the overlay.
package network

import (
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/network"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// WebhookName is the name of the webhook.
const WebhookName = network.WebhookName

// New creates the webhook. Unlike the library's it serves all types of networks.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	log := mgr.GetLogger().WithName("network-webhook")
	types := []extensionswebhook.Type{{Obj: &extensionsv1alpha1.Network{}}}
	handler, err := extensionswebhook.NewBuilder(mgr, log).WithMutator(NewMutator(mgr.GetClient(), log), types...).Build()
	if err != nil {
		return nil, err
	}
	return &extensionswebhook.Webhook{
		Name:    WebhookName,
		Path:    WebhookName,
		Target:  extensionswebhook.TargetSeed,
		Types:   types,
		Webhook: &admission.Webhook{Handler: handler, RecoverPanic: new(true)},
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: v1beta1constants.LabelShootProvider, Operator: metav1.LabelSelectorOpIn, Values: []string{v1alpha1.ProviderType}},
			{Key: v1beta1constants.LabelNetworkingProvider, Operator: metav1.LabelSelectorOpIn,
				Values: []string{podnetwork.TypeCalico, podnetwork.TypeCilium}},
		}},
	}, nil
}
