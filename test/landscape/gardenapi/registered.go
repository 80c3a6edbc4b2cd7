// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package gardenapi

import (
	"context"
	"errors"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// registered returns an error unless the API server of the garden calls the webhooks. It reads their registrations some time after they
// are written, so that a CloudProfile is tried that only a webhook refuses.
func (g *Garden) registered(ctx context.Context) error {
	var (
		mutating   admissionregistrationv1.MutatingWebhookConfigurationList
		validating admissionregistrationv1.ValidatingWebhookConfigurationList
	)
	if err := errors.Join(g.Client.List(ctx, &mutating), g.Client.List(ctx, &validating)); err != nil {
		return err
	}
	if len(mutating.Items) == 0 || len(validating.Items) == 0 {
		return fmt.Errorf("there are %d registrations of mutating and %d of validating webhooks", len(mutating.Items), len(validating.Items))
	}
	profile := &gardencorev1beta1.CloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "without-configuration"},
		Spec: gardencorev1beta1.CloudProfileSpec{
			Type:          v1alpha1.ProviderType,
			Kubernetes:    gardencorev1beta1.KubernetesSettings{Versions: []gardencorev1beta1.ExpirableVersion{{Version: "1.36.3"}}},
			Regions:       []gardencorev1beta1.Region{{Name: "west"}},
			MachineTypes:  []gardencorev1beta1.MachineType{},
			MachineImages: []gardencorev1beta1.MachineImage{},
		},
	}
	if err := g.Client.Create(ctx, profile, client.DryRunAll); err == nil || !DeniedByWebhook(err) {
		return fmt.Errorf("the API does not call the webhooks: %w", errors.Join(err, errors.New("a CloudProfile without sites was not refused by one")))
	}
	return nil
}
