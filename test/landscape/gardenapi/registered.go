// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package gardenapi

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// registered returns an error unless the API server of the garden calls the webhooks, which it does some time after they were
// registered.
func (g *Garden) registered(ctx context.Context, refused client.Object) error {
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
	err := g.Client.Create(ctx, refused.DeepCopyObject().(client.Object), client.DryRunAll)
	if !DeniedByWebhook(err) {
		return fmt.Errorf("%T %s was not refused by a webhook: %w", refused, refused.GetName(), errors.Join(err, errors.New("none was called")))
	}
	return nil
}
