// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// environment returns the variables of a container.
func (k *Kubelet) environment(ctx context.Context, p *Pod, spec *corev1.Container) (map[string]string, error) {
	kubernetes := &corev1.Service{}
	if err := k.Client.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: "kubernetes"}, kubernetes); err != nil {
		return nil, err
	}
	env := map[string]string{
		"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": p.key.Name,
		"KUBERNETES_SERVICE_HOST": kubernetes.Spec.ClusterIP, "KUBERNETES_SERVICE_PORT": "443",
	}
	field := func(path string) (string, error) { return p.field(k, path) }
	return env, k.source(p).Environment(ctx, spec, field, env)
}

// field returns a field of the pod.
func (p *Pod) field(k *Kubelet, path string) (string, error) {
	for prefix, values := range map[string]map[string]string{"metadata.labels['": p.object.Labels,
		"metadata.annotations['": p.object.Annotations} {
		if key, ok := strings.CutPrefix(path, prefix); ok {
			return values[strings.TrimSuffix(key, "']")], nil
		}
	}
	fields := map[string]string{
		"metadata.name": p.key.Name, "metadata.namespace": p.key.Namespace, "metadata.uid": string(p.uid),
		"spec.nodeName": Name, "spec.serviceAccountName": cmp.Or(p.object.Spec.ServiceAccountName, "default"),
		"status.podIP": p.ip, "status.podIPs": p.ip, "status.hostIP": k.Networks.Node,
	}
	value, ok := fields[path]
	if !ok {
		return "", fmt.Errorf("field %s is not played", path)
	}
	return value, nil
}

// ignoreConflict returns nil if the error is that something was changed meanwhile.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Listen listens on a port of the pod.
func (p *Pod) Listen(port string) (net.Listener, error) {
	return p.network.Listen(net.JoinHostPort(p.ip, port))
}

// File returns the path of a file that is mounted at a path in a container.
func (p *Pod) File(container, path string) (string, error) {
	for _, c := range p.object.Spec.Containers {
		if c.Name != container {
			continue
		}
		for _, m := range c.VolumeMounts {
			if rest, ok := strings.CutPrefix(path, m.MountPath+"/"); ok && p.volumes[m.Name] != nil {
				return p.volumes[m.Name].path + "/" + rest, nil
			}
		}
	}
	return "", fmt.Errorf("nothing is mounted at %s in container %s of pod %s", path, container, p.key)
}

// Name is the name of the pod.
func (p *Pod) Name() string {
	return p.key.Name
}

// Namespace is the namespace of the pod.
func (p *Pod) Namespace() string {
	return p.key.Namespace
}
