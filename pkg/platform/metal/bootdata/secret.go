// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bootdata

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
)

// WriteSecret writes the Secret of the machine, and replaces an existing one. A Secret of that name that belongs to something else is a
// conflict. Errors are classified.
func WriteSecret(ctx context.Context, c client.Client, o owner.Owner, machine string, secret *corev1.Secret) error {
	secret.Name = machine
	secret.Labels = labels.Merge(secret.Labels, o.MachineLabels(machine))
	err := c.Create(ctx, secret.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return kubernetes.Classify(err)
	}
	if err := DeleteSecret(ctx, c, secret.Namespace, o, machine); err != nil {
		return err
	}
	err = c.Create(ctx, secret.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		return platform.NewError(platform.ClassConflict, "Secret %s/%s exists, but is not that of machine %q",
			secret.Namespace, machine, machine)
	}
	return kubernetes.Classify(err)
}

// SecretExists reports whether there is a Secret with the name of the machine. Errors are classified.
func SecretExists(ctx context.Context, c client.Client, namespace string, o owner.Owner, machine string) (bool, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machine, Labels: o.MachineLabels(machine)}}
	err := c.Create(ctx, secret, client.DryRunAll)
	if apierrors.IsAlreadyExists(err) {
		return true, nil
	}
	return false, kubernetes.Classify(err)
}

// DeleteSecret deletes the Secret of the machine. It is a no-op if there is none, or if it belongs to something else. Errors are
// classified.
func DeleteSecret(ctx context.Context, c client.Client, namespace string, o owner.Owner, machine string) error {
	existing, err := empty(ctx, c, namespace, o, machine)
	if apierrors.IsInvalid(err) {
		return nil
	}
	if err != nil {
		return kubernetes.IgnoreNotFound(err)
	}
	return kubernetes.IgnoreNotFound(c.Delete(ctx, existing, client.Preconditions{UID: &existing.UID}))
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// pointer escapes the name of a label for the path of a JSON patch.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// empty removes the data of the machine's Secret, so that no response contains it, and returns the metadata. The patch of a Secret that
// belongs to something else is invalid.
func empty(ctx context.Context, c client.Client, namespace string, o owner.Owner, machine string) (*metav1.PartialObjectMetadata, error) {
	var operations []operation
	for label, value := range o.MachineLabels(machine) {
		operations = append(operations, operation{"test", "/metadata/labels/" + pointer.Replace(label), value})
	}
	raw, err := json.Marshal(append(operations, operation{"add", "/data", map[string][]byte{}}))
	if err != nil {
		return nil, err
	}
	result := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: machine}}
	result.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return result, c.Patch(ctx, result, client.RawPatch(types.JSONPatchType, raw))
}
