// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package validator validates what shoot owners and operators write in the garden. It sends no requests to sites.
package validator

import (
	"context"
	"fmt"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// Name is the name of the webhook for Shoots, CloudProfiles and NamespacedCloudProfiles.
	Name = "validator"
	// BindingsValidatorName is the name of the webhook for CredentialsBindings and SecretBindings.
	BindingsValidatorName = "bindings." + Name
	// SecretsValidatorName is the name of the webhook for Secrets and InternalSecrets that a binding refers to.
	SecretsValidatorName = "secrets." + Name

	path         = "/webhooks/validate"
	bindingsPath = path + "/bindings"
	secretsPath  = path + "/secrets"
)

// New returns the webhook that validates Shoots, CloudProfiles and NamespacedCloudProfiles of the provider type, and warns of settings that
// are valid but risky.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	webhook, err := extensionswebhook.New(mgr, extensionswebhook.Args{
		Name: Name,
		Path: path,
		Validators: map[extensionswebhook.Validator][]extensionswebhook.Type{
			NewShootValidator(mgr):                  {{Obj: &gardencorev1beta1.Shoot{}}},
			NewCloudProfileValidator(mgr):           {{Obj: &gardencorev1beta1.CloudProfile{}}},
			NewNamespacedCloudProfileValidator(mgr): {{Obj: &gardencorev1beta1.NamespacedCloudProfile{}}},
		},
		Target:         extensionswebhook.TargetSeed,
		ObjectSelector: withLabel(v1beta1constants.LabelExtensionProviderTypePrefix),
	})
	if err != nil {
		return nil, err
	}
	webhook.Webhook.Handler = WithWarnings(webhook.Webhook.Handler)
	return webhook, nil
}

// NewBindingsWebhook returns the webhook that validates bindings of the provider type.
func NewBindingsWebhook(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return extensionswebhook.New(mgr, extensionswebhook.Args{
		Name: BindingsValidatorName,
		Path: bindingsPath,
		Validators: map[extensionswebhook.Validator][]extensionswebhook.Type{
			NewBindingValidator(mgr): {{Obj: &securityv1alpha1.CredentialsBinding{}}, {Obj: &gardencorev1beta1.SecretBinding{}}},
		},
		Target:         extensionswebhook.TargetSeed,
		ObjectSelector: withLabel(v1beta1constants.LabelExtensionProviderTypePrefix),
	})
}

// NewSecretsWebhook returns the webhook that validates the Secrets that bindings of the provider type refer to. Gardener labels them when
// they are bound.
func NewSecretsWebhook(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return extensionswebhook.New(mgr, extensionswebhook.Args{
		Name: SecretsValidatorName,
		Path: secretsPath,
		Validators: map[extensionswebhook.Validator][]extensionswebhook.Type{
			NewSecretValidator(mgr): {{Obj: &corev1.Secret{}}, {Obj: &gardencorev1beta1.InternalSecret{}}},
		},
		Target:         extensionswebhook.TargetSeed,
		ObjectSelector: withLabel(v1beta1constants.LabelShootProviderPrefix),
	})
}

func withLabel(prefix string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{prefix + v1alpha1.ProviderType: "true"}}
}

// typed returns the objects of a request as objects of type T. The old object is nil if there is none.
func typed[T client.Object](newObj, oldObj client.Object) (object, old T, err error) {
	object, ok := newObj.(T)
	if !ok {
		return object, old, fmt.Errorf("expected %T, got %T", object, newObj)
	}
	if oldObj == nil {
		return object, old, nil
	}
	if old, ok = oldObj.(T); !ok {
		return object, old, fmt.Errorf("expected %T as the old object, got %T", object, oldObj)
	}
	return object, old, nil
}

// warningsKey is the key of the warnings in the context of a request.
type warningsKey struct{}

// WithWarnings adds the warnings about Shoots and CloudProfiles to the response. Gardener's validators cannot return warnings, so they
// store them in the context.
func WithWarnings(handler admission.Handler) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		var warnings []string
		response := handler.Handle(context.WithValue(ctx, warningsKey{}, &warnings), request)
		if response.Allowed {
			response.Warnings = append(response.Warnings, warnings...)
		}
		return response
	})
}

// warn stores the warnings in the context. find is only called if they are wanted.
func warn(ctx context.Context, find func() []string) {
	if warnings, ok := ctx.Value(warningsKey{}).(*[]string); ok {
		*warnings = append(*warnings, find()...)
	}
}
