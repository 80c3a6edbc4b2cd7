// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package played

import (
	"context"
	"errors"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// userData is what machines get from the played operating system. Driver and machine-controller-manager fill it in.
const userData = "#!/bin/bash\necho <<MACHINE_NAME>> <<BOOTSTRAP_TOKEN>>\n"

// syncExtensions plays the extensions for operating systems, networks and DNS records.
func (o *Operators) syncExtensions(ctx context.Context) error {
	var errs []error
	for _, list := range []client.ObjectList{&extensionsv1alpha1.OperatingSystemConfigList{}, &extensionsv1alpha1.NetworkList{},
		&extensionsv1alpha1.DNSRecordList{}} {
		if err := o.list(ctx, list); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(extensionsv1alpha1.Object)
			if !ok || !slices.Contains(o.Types, object.GetExtensionSpec().GetExtensionType()) {
				return nil
			}
			return o.syncExtension(ctx, object)
		}))
	}
	return errors.Join(errs...)
}

func (o *Operators) syncExtension(ctx context.Context, object extensionsv1alpha1.Object) error {
	full, ok := object.(client.Object)
	if !ok {
		return nil
	}
	if full.GetDeletionTimestamp() != nil {
		return nil
	}
	status := object.GetExtensionStatus()
	operation, asked := full.GetAnnotations()[v1beta1constants.GardenerOperation]
	last := status.GetLastOperation()
	if !asked && last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded &&
		status.GetObservedGeneration() == full.GetGeneration() {
		return nil
	}

	before := full.DeepCopyObject().(client.Object)
	if config, ok := full.(*extensionsv1alpha1.OperatingSystemConfig); ok &&
		config.Spec.Purpose == extensionsv1alpha1.OperatingSystemConfigPurposeProvision {
		if err := o.writeUserData(ctx, config); err != nil {
			return err
		}
	}
	kind := gardencorev1beta1.LastOperationTypeReconcile
	if operation == v1beta1constants.GardenerOperationMigrate {
		kind = gardencorev1beta1.LastOperationTypeMigrate
	}
	status.SetObservedGeneration(full.GetGeneration())
	status.SetLastOperation(&gardencorev1beta1.LastOperation{
		Type: kind, State: gardencorev1beta1.LastOperationStateSucceeded, Description: "Played", Progress: 100, LastUpdateTime: metav1.Now(),
	})
	if err := o.Client.Status().Patch(ctx, full, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	before = full.DeepCopyObject().(client.Object)
	annotations := full.GetAnnotations()
	delete(annotations, v1beta1constants.GardenerOperation)
	full.SetAnnotations(annotations)
	return client.IgnoreNotFound(o.Client.Patch(ctx, full, client.MergeFrom(before)))
}

// writeUserData creates the Secret with what machines get, which goes with the object.
func (o *Operators) writeUserData(ctx context.Context, config *extensionsv1alpha1.OperatingSystemConfig) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: "user-data-" + config.Name, Namespace: config.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(config,
				extensionsv1alpha1.SchemeGroupVersion.WithKind("OperatingSystemConfig"))},
		},
		Data: map[string][]byte{extensionsv1alpha1.OperatingSystemConfigSecretDataKey: []byte(userData)},
	}
	config.Status.CloudConfig = &extensionsv1alpha1.CloudConfig{SecretRef: corev1.SecretReference{Name: secret.Name,
		Namespace: secret.Namespace}}
	return client.IgnoreAlreadyExists(o.Client.Create(ctx, secret))
}
