// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// Rotate gives the OpenStack site and the sites of bare metal new credentials, which are used once the shoots are reconciled. The function
// that it returns ends the former ones.
func (l *Lab) Rotate(ctx context.Context) (func(context.Context) error, error) {
	credentials, err := l.Inventory.Certificate()
	if err != nil {
		return nil, err
	}
	former := l.key
	if l.key, err = l.newKey(ctx); err != nil {
		return nil, err
	}
	l.setCredentials(Cloud, l.key.SiteCredentials())
	l.setCredentials(Racks, credentials.SiteCredentials())
	l.setCredentials(Hall, credentials.SiteCredentials())
	secret := &corev1.Secret{}
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: garden.Namespace, Name: "hybrid"}, secret); err != nil {
		return nil, err
	}
	secret.Data, secret.StringData = nil, l.secretData()
	if err := l.Client.Update(ctx, secret); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(former.Revoke(ctx), l.Inventory.DeleteAccount(ctx))
	}, nil
}

// Conditions are the conditions of the shoot's Infrastructure, which tell what is wrong with single sites.
func (s *Shoot) Conditions(ctx context.Context) ([]gardencorev1beta1.Condition, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	err := s.seed.Client.Get(ctx, client.ObjectKey{Namespace: s.TechnicalID(), Name: s.name}, infra)
	return infra.Status.Conditions, err
}
