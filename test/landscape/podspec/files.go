// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package podspec reads what the specification of a pod refers to, for those that run pods as processes.
package podspec

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Source reads Secrets and ConfigMaps of the namespace of a pod. What is optional may be missing.
type Source struct {
	Reader    client.Reader
	Namespace string
}

// Secret returns the files that a Secret gives to a volume, by path.
func (s Source) Secret(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := s.read(ctx, name, secret, optional); err != nil {
		return nil, err
	}
	return pick(name, secret.Data, items, optional)
}

// ConfigMap returns the files that a ConfigMap gives to a volume, by path.
func (s Source) ConfigMap(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	object := &corev1.ConfigMap{}
	if err := s.read(ctx, name, object, optional); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, object.BinaryData)
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return pick(name, data, items, optional)
}

func (s Source) read(ctx context.Context, name string, object client.Object, optional *bool) error {
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

// pick takes some keys of an object, or all if there are no items.
func pick(name string, data map[string][]byte, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	if len(items) == 0 {
		maps.Copy(files, data)
		return files, nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && (optional == nil || !*optional) {
			return nil, fmt.Errorf("%s has no key %s", name, item.Key)
		}
		if ok {
			files[item.Path] = value
		}
	}
	return files, nil
}
