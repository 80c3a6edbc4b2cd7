// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"regexp"
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
	for _, e := range spec.Env {
		value, err := k.environmentValue(ctx, p, spec, e)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", e.Name, err)
		}
		env[e.Name] = expand(value, env)
	}
	return env, nil
}

func (k *Kubelet) environmentValue(ctx context.Context, p *Pod, spec *corev1.Container, e corev1.EnvVar) (string, error) {
	if e.ValueFrom == nil {
		return e.Value, nil
	}
	var (
		files map[string][]byte
		err   error
	)
	switch from := e.ValueFrom; {
	case from.FieldRef != nil:
		return p.field(k, from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		return resourceOf(spec, from.ResourceFieldRef.Resource)
	case from.SecretKeyRef != nil:
		files, err = k.secretFiles(ctx, p, from.SecretKeyRef.Name, []corev1.KeyToPath{{Key: from.SecretKeyRef.Key, Path: e.Name}}, from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		files, err = k.configMapFiles(ctx, p, from.ConfigMapKeyRef.Name, []corev1.KeyToPath{{Key: from.ConfigMapKeyRef.Key, Path: e.Name}}, from.ConfigMapKeyRef.Optional)
	default:
		return "", fmt.Errorf("sources of this kind are not played: %s", from.String())
	}
	return string(files[e.Name]), err
}

// field returns a field of the pod.
func (p *Pod) field(k *Kubelet, path string) (string, error) {
	for prefix, values := range map[string]map[string]string{"metadata.labels['": p.object.Labels, "metadata.annotations['": p.object.Annotations} {
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

func resourceOf(spec *corev1.Container, name string) (string, error) {
	for kind, list := range map[string]corev1.ResourceList{"requests.": spec.Resources.Requests, "limits.": spec.Resources.Limits} {
		for resource, quantity := range list {
			if name == kind+string(resource) {
				return fmt.Sprint(quantity.Value()), nil
			}
		}
	}
	return "", fmt.Errorf("the container has no %s", name)
}

var variable = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)

// expand replaces $(NAME) by environment variables of the container.
func expand(text string, env map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
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
