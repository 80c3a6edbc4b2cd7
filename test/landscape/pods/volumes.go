// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"maps"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// volumeFiles returns the files of a volume by path, nil if it is one that containers write to.
func (n *Node) volumeFiles(ctx context.Context, volume corev1.VolumeSource) (map[string][]byte, error) {
	switch {
	case volume.EmptyDir != nil, volume.HostPath != nil:
		return nil, nil
	case volume.Secret != nil:
		return n.secretFiles(ctx, volume.Secret.SecretName, volume.Secret.Items, volume.Secret.Optional)
	case volume.ConfigMap != nil:
		return n.configMapFiles(ctx, volume.ConfigMap.Name, volume.ConfigMap.Items, volume.ConfigMap.Optional)
	case volume.Projected != nil:
		files := map[string][]byte{}
		for _, source := range volume.Projected.Sources {
			part, err := n.projectedFiles(ctx, source)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, part)
		}
		return files, nil
	}
	return nil, fmt.Errorf("volumes of this kind are not played: %s", volume.String())
}

func (n *Node) projectedFiles(ctx context.Context, source corev1.VolumeProjection) (map[string][]byte, error) {
	switch {
	case source.Secret != nil:
		return n.secretFiles(ctx, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
	case source.ConfigMap != nil:
		return n.configMapFiles(ctx, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
	}
	return nil, fmt.Errorf("projected volumes of this kind are not played: %s", source.String())
}

func (n *Node) secretFiles(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := n.read(ctx, name, secret, optional); err != nil {
		return nil, err
	}
	return pick(name, secret.Data, items, optional)
}

func (n *Node) configMapFiles(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	object := &corev1.ConfigMap{}
	if err := n.read(ctx, name, object, optional); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	maps.Copy(data, object.BinaryData)
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return pick(name, data, items, optional)
}

// read reads an object, which may be missing if it is optional.
func (n *Node) read(ctx context.Context, name string, object client.Object, optional *bool) error {
	err := n.Client.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: name}, object)
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

// environment returns the variables of a container.
func (n *Node) environment(ctx context.Context, pod *corev1.Pod, container *corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, e := range container.Env {
		value, err := n.environmentValue(ctx, pod, container, e)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", e.Name, err)
		}
		env[e.Name] = expand(value, env)
	}
	return env, nil
}

func (n *Node) environmentValue(ctx context.Context, pod *corev1.Pod, container *corev1.Container, e corev1.EnvVar) (string, error) {
	if e.ValueFrom == nil {
		return e.Value, nil
	}
	var (
		files map[string][]byte
		err   error
	)
	switch from := e.ValueFrom; {
	case from.FieldRef != nil:
		return field(pod, from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		return containerResource(container, from.ResourceFieldRef.Resource)
	case from.SecretKeyRef != nil:
		files, err = n.secretFiles(ctx, from.SecretKeyRef.Name, []corev1.KeyToPath{{Key: from.SecretKeyRef.Key, Path: e.Name}}, from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		files, err = n.configMapFiles(ctx, from.ConfigMapKeyRef.Name, []corev1.KeyToPath{{Key: from.ConfigMapKeyRef.Key, Path: e.Name}}, from.ConfigMapKeyRef.Optional)
	default:
		return "", fmt.Errorf("sources of this kind are not played: %s", from.String())
	}
	return string(files[e.Name]), err
}

func field(pod *corev1.Pod, path string) (string, error) {
	fields := map[string]string{
		"metadata.name": pod.Name, "metadata.namespace": pod.Namespace, "metadata.uid": string(pod.UID),
		"spec.nodeName": pod.Spec.NodeName, "spec.serviceAccountName": pod.Spec.ServiceAccountName,
		"status.podIP": loopbackIP, "status.hostIP": loopbackIP,
	}
	value, ok := fields[path]
	if !ok {
		return "", fmt.Errorf("field %s is not played", path)
	}
	return value, nil
}

func containerResource(container *corev1.Container, name string) (string, error) {
	for kind, list := range map[string]corev1.ResourceList{"requests.": container.Resources.Requests, "limits.": container.Resources.Limits} {
		for resource, quantity := range list {
			if name == kind+string(resource) {
				return fmt.Sprint(quantity.Value()), nil
			}
		}
	}
	return "", fmt.Errorf("the container has no %s", name)
}

// removeAll removes a folder and reports what is not possible in the log.
func (n *Node) removeAll(path string) {
	if err := os.RemoveAll(path); err != nil {
		n.Log.Error(err, "Not all files of a pod are removed")
	}
}
