// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backup is the webhook that names etcd-druid the store of backups of type hybrid, which it does not know.
package backup

import (
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// WebhookName is the name of the webhook for shoots on a seed whose backups are of type hybrid.
	WebhookName = "backup"
	// CopyWebhookName is the name of the webhook for shoots that come to a seed with other backups.
	CopyWebhookName = WebhookName + "-copy"
	// GardenWebhookName is the name of the webhook for gardens and self-hosted shoots.
	GardenWebhookName = WebhookName + "-garden"
)

var (
	etcds = extensionswebhook.Type{Obj: &druidcorev1alpha1.Etcd{}}
	tasks = extensionswebhook.Type{Obj: &druidcorev1alpha1.EtcdCopyBackupsTask{}}
)

// New creates the webhook for shoots on a seed whose backups are of type hybrid. While it does not answer, their Etcds cannot be written.
func New(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return newWebhook(mgr, WebhookName, admissionregistrationv1.Fail, []extensionswebhook.Type{etcds, tasks},
		metav1.LabelSelectorRequirement{Key: v1beta1constants.LabelBackupProvider, Operator: metav1.LabelSelectorOpIn,
			Values: []string{v1alpha1.ProviderType}})
}

// NewForCopies creates the webhook for shoots on a seed with other backups, to which theirs of type hybrid are copied. While it does not
// answer, other copies are not affected.
func NewForCopies(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return newWebhook(mgr, CopyWebhookName, admissionregistrationv1.Ignore, []extensionswebhook.Type{tasks},
		metav1.LabelSelectorRequirement{Key: v1beta1constants.LabelBackupProvider, Operator: metav1.LabelSelectorOpExists},
		metav1.LabelSelectorRequirement{Key: v1beta1constants.LabelBackupProvider, Operator: metav1.LabelSelectorOpNotIn,
			Values: []string{v1alpha1.ProviderType}})
}

// NewForGardens creates the webhook for the Etcds of a garden and of a self-hosted shoot, whose namespaces do not say of which type the
// backups are. While it does not answer, Etcds with other backups are not affected.
func NewForGardens(mgr manager.Manager) (*extensionswebhook.Webhook, error) {
	return newWebhook(mgr, GardenWebhookName, admissionregistrationv1.Ignore, []extensionswebhook.Type{etcds, tasks},
		metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn,
			Values: []string{v1beta1constants.GardenNamespace, metav1.NamespaceSystem}})
}

func newWebhook(mgr manager.Manager, name string, failurePolicy admissionregistrationv1.FailurePolicyType, types []extensionswebhook.Type,
	namespaces ...metav1.LabelSelectorRequirement) (*extensionswebhook.Webhook, error) {
	handler, err := extensionswebhook.NewBuilder(mgr, mgr.GetLogger().WithName(name+"-webhook")).
		WithMutator(NewMutator(mgr.GetAPIReader()), types...).Build()
	if err != nil {
		return nil, err
	}
	return &extensionswebhook.Webhook{
		Name:              name,
		Path:              name,
		Target:            extensionswebhook.TargetSeed,
		Types:             types,
		FailurePolicy:     &failurePolicy,
		Webhook:           &admission.Webhook{Handler: handler, RecoverPanic: new(true)},
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: namespaces},
	}, nil
}
