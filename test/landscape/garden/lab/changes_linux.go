// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Migrated are the objects of the shoot that Operate is for, in the order in which a shoot leaves a seed.
func (s *Shoot) Migrated() []extensionsv1alpha1.Object {
	name := metav1.ObjectMeta{Namespace: s.TechnicalID(), Name: s.name}
	internal, external := name, name
	internal.Name, external.Name = s.name+"-internal", s.name+"-external"
	return []extensionsv1alpha1.Object{
		&extensionsv1alpha1.Worker{ObjectMeta: name}, &extensionsv1alpha1.ControlPlane{ObjectMeta: name},
		&extensionsv1alpha1.Infrastructure{ObjectMeta: name},
		&extensionsv1alpha1.DNSRecord{ObjectMeta: internal}, &extensionsv1alpha1.DNSRecord{ObjectMeta: external},
	}
}

// Operate asks for an operation of an object in the seed and waits until it has succeeded. What is restored is reconciled at once.
func (l *Lab) Operate(ctx context.Context, object extensionsv1alpha1.Object, operation string, kind gardencorev1beta1.LastOperationType,
	tell func(string)) error {
	full, ok := object.(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	if err := l.SeedClient.Get(ctx, client.ObjectKeyFromObject(full), full); err != nil {
		return err
	}
	before := full.DeepCopyObject().(client.Object)
	annotations := full.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	since := time.Now().Truncate(time.Second)
	annotations[v1beta1constants.GardenerOperation] = operation
	annotations[v1beta1constants.GardenerTimestamp] = time.Now().UTC().Format(time.RFC3339Nano)
	full.SetAnnotations(annotations)
	if err := l.SeedClient.Patch(ctx, full, client.MergeFrom(before)); err != nil {
		return err
	}
	return l.wait(ctx, tell, func(ctx context.Context) (bool, string, error) {
		if err := l.SeedClient.Get(ctx, client.ObjectKeyFromObject(full), full); err != nil {
			return false, "", err
		}
		last := object.GetExtensionStatus().GetLastOperation()
		if last == nil || full.GetAnnotations()[v1beta1constants.GardenerOperation] != "" || last.LastUpdateTime.Time.Before(since) {
			return false, "", nil
		}
		reconciled := kind == gardencorev1beta1.LastOperationTypeRestore && last.Type == gardencorev1beta1.LastOperationTypeReconcile
		if last.Type != kind && !reconciled {
			return false, "", nil
		}
		message := fmt.Sprintf("%T %s: %s %s", object, full.GetName(), last.Type, last.State)
		if failure := object.GetExtensionStatus().GetLastError(); failure != nil {
			message += ": " + failure.Description
		}
		return last.State == gardencorev1beta1.LastOperationStateSucceeded, message, nil
	})
}

// Conditions are the conditions of the shoot's Infrastructure, which tell what is wrong with single sites.
func (s *Shoot) Conditions(ctx context.Context) ([]gardencorev1beta1.Condition, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	err := s.lab.SeedClient.Get(ctx, client.ObjectKey{Namespace: s.TechnicalID(), Name: s.name}, infra)
	return infra.Status.Conditions, err
}
