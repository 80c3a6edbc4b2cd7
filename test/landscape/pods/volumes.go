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

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/podspec"
)

// volumeFiles returns the files of a volume by path, nil if it is one that containers write to.
func (n *Node) volumeFiles(ctx context.Context, volume corev1.VolumeSource) (map[string][]byte, error) {
	switch {
	case volume.EmptyDir != nil, volume.HostPath != nil:
		return nil, nil
	case volume.Secret != nil:
		return n.source().Secret(ctx, volume.Secret.SecretName, volume.Secret.Items, volume.Secret.Optional)
	case volume.ConfigMap != nil:
		return n.source().ConfigMap(ctx, volume.ConfigMap.Name, volume.ConfigMap.Items, volume.ConfigMap.Optional)
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
		return n.source().Secret(ctx, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
	case source.ConfigMap != nil:
		return n.source().ConfigMap(ctx, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
	}
	return nil, fmt.Errorf("projected volumes of this kind are not played: %s", source.String())
}

// source is where pods read from.
func (n *Node) source() podspec.Source {
	return podspec.Source{Reader: n.Client, Namespace: n.Namespace}
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

// removeAll removes a folder and reports what is not possible in the log.
func (n *Node) removeAll(path string) {
	if err := os.RemoveAll(path); err != nil {
		n.Log.Error(err, "Not all files of a pod are removed")
	}
}
