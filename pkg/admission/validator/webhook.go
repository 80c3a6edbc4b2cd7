// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package validator validates what shoot owners and operators write in the garden. It sends no requests to sites.
package validator

import (
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	securityv1alpha1 "github.com/gardener/gardener/pkg/apis/security/v1alpha1"
	seedmanagementv1alpha1 "github.com/gardener/gardener/pkg/apis/seedmanagement/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// Name is the name of the webhook for Shoots, CloudProfiles, NamespacedCloudProfiles, Seeds and BackupBuckets.
	Name = "validator"
	// BindingsValidatorName is the name of the webhook for CredentialsBindings and SecretBindings.
	BindingsValidatorName = "bindings." + Name
	// ManagedSeedsValidatorName is the name of the webhook for ManagedSeeds.
	ManagedSeedsValidatorName = "managedseeds." + Name
	// SecretsValidatorName is the name of the webhook for Secrets and InternalSecrets that a binding refers to.
	SecretsValidatorName = "secrets." + Name

	path         = "/webhooks/validate"
	bindingsPath = path + "/bindings"
	secretsPath  = path + "/secrets"
	seedsPath    = path + "/managedseeds"
)

// New returns the webhook that validates Shoots, CloudProfiles, NamespacedCloudProfiles, Seeds and BackupBuckets of the provider type and
// Seeds with backups of it, and warns of settings that are valid but risky.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	webhook, err := newWebhook(mgr, Name, path, v1beta1constants.LabelExtensionProviderTypePrefix, validators{
		NewShootValidator(mgr):                  {{Obj: &gardencorev1beta1.Shoot{}}},
		NewCloudProfileValidator(mgr):           {{Obj: &gardencorev1beta1.CloudProfile{}}},
		NewNamespacedCloudProfileValidator(mgr): {{Obj: &gardencorev1beta1.NamespacedCloudProfile{}}},
		NewSeedValidator(mgr):                   {{Obj: &gardencorev1beta1.Seed{}}},
		NewBackupBucketValidator():              {{Obj: &gardencorev1beta1.BackupBucket{}}},
	})
	if err != nil {
		return nil, err
	}
	webhook.Webhook.Handler = WithWarnings(webhook.Webhook.Handler)
	return webhook, nil
}

// NewBindingsWebhook returns the webhook that validates bindings of the provider type.
func NewBindingsWebhook(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return newWebhook(mgr, BindingsValidatorName, bindingsPath, v1beta1constants.LabelExtensionProviderTypePrefix, validators{
		NewBindingValidator(mgr): {{Obj: &securityv1alpha1.CredentialsBinding{}}, {Obj: &gardencorev1beta1.SecretBinding{}}},
	})
}

// NewSecretsWebhook returns the webhook that validates the Secrets that bindings of the provider type refer to. Gardener labels them when
// they are bound.
func NewSecretsWebhook(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return newWebhook(mgr, SecretsValidatorName, secretsPath, v1beta1constants.LabelShootProviderPrefix, validators{
		NewSecretValidator(mgr): {{Obj: &corev1.Secret{}}, {Obj: &gardencorev1beta1.InternalSecret{}}},
	})
}

// NewManagedSeedsWebhook returns the webhook that validates ManagedSeeds, which have no label that selects those of the type. While
// it does not answer, ManagedSeeds are not validated, but the Seeds that gardenlet creates for them are.
func NewManagedSeedsWebhook(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	webhook, err := extensionswebhook.New(mgr, extensionswebhook.Args{
		Name:       ManagedSeedsValidatorName,
		Path:       seedsPath,
		Validators: validators{NewManagedSeedValidator(mgr): {{Obj: &seedmanagementv1alpha1.ManagedSeed{}}}},
		Target:     extensionswebhook.TargetSeed,
	})
	if err != nil {
		return nil, err
	}
	webhook.FailurePolicy = new(admissionregistrationv1.Ignore)
	webhook.Webhook.Handler = WithWarnings(webhook.Webhook.Handler)
	return webhook, nil
}

type validators = map[extensionswebhook.Validator][]extensionswebhook.Type

// newWebhook returns a webhook for objects that are labelled for the provider type with the prefix.
func newWebhook(mgr manager.Manager, name, path, labelPrefix string, validators validators) (*extensionswebhook.Webhook, error) {
	return extensionswebhook.New(mgr, extensionswebhook.Args{
		Name:           name,
		Path:           path,
		Validators:     validators,
		Target:         extensionswebhook.TargetSeed,
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{labelPrefix + v1alpha1.ProviderType: "true"}},
	})
}
