// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"context"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
)

// Environment adds the variables of a container to those that are there. field returns the values of the pod's fields.
func (s Source) Environment(ctx context.Context, container *corev1.Container, field func(path string) (string, error),
	env map[string]string) error {
	for _, e := range container.Env {
		value, err := s.value(ctx, container, field, e)
		if err != nil {
			return fmt.Errorf("environment variable %s: %w", e.Name, err)
		}
		env[e.Name] = Expand(value, env)
	}
	return nil
}

func (s Source) value(ctx context.Context, container *corev1.Container, field func(path string) (string, error), e corev1.EnvVar) (string,
	error) {
	if e.ValueFrom == nil {
		return e.Value, nil
	}
	var (
		files map[string][]byte
		err   error
	)
	switch from := e.ValueFrom; {
	case from.FieldRef != nil:
		return field(from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		return resourceOf(container, from.ResourceFieldRef.Resource)
	case from.SecretKeyRef != nil:
		files, err = s.Secret(ctx, from.SecretKeyRef.Name, []corev1.KeyToPath{{Key: from.SecretKeyRef.Key, Path: e.Name}},
			from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		files, err = s.ConfigMap(ctx, from.ConfigMapKeyRef.Name, []corev1.KeyToPath{{Key: from.ConfigMapKeyRef.Key, Path: e.Name}},
			from.ConfigMapKeyRef.Optional)
	default:
		return "", fmt.Errorf("sources of this kind are not played: %s", from.String())
	}
	return string(files[e.Name]), err
}

func resourceOf(container *corev1.Container, name string) (string, error) {
	for kind, list := range map[string]corev1.ResourceList{"requests.": container.Resources.Requests, "limits.": container.Resources.Limits} {
		for resource, quantity := range list {
			if name == kind+string(resource) {
				return fmt.Sprint(quantity.Value()), nil
			}
		}
	}
	return "", fmt.Errorf("the container has no %s", name)
}

var variable = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)

// Expand replaces $(NAME) by the environment variables that there are.
func Expand(text string, env map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}
