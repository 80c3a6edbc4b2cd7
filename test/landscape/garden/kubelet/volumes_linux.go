// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/podspec"
)

// tokenLifetime is that of a token whose volume does not say it, in seconds.
const tokenLifetime = 3600

// writeVolumes brings the files of the pod's volumes up to date.
func (k *Kubelet) writeVolumes(ctx context.Context, p *Pod) error {
	if p.volumes == nil {
		p.volumes = map[string]*volume{}
	}
	for i := range p.object.Spec.Volumes {
		source := &p.object.Spec.Volumes[i]
		v := p.volumes[source.Name]
		if v == nil {
			v = &volume{path: k.folder(p, source), tokens: map[string]token{}}
			if err := makeWritable(v.path); err != nil {
				return err
			}
			p.volumes[source.Name] = v
		}
		files, err := k.volumeFiles(ctx, p, v, source.VolumeSource)
		if err != nil {
			return fmt.Errorf("volume %s: %w", source.Name, err)
		}
		if files == nil {
			continue
		}
		if err := v.write(files); err != nil {
			return err
		}
	}
	return nil
}

// folder is where the files of a volume are. Those of the node itself outlive the pod; they are not this machine's.
func (k *Kubelet) folder(p *Pod, v *corev1.Volume) string {
	if v.HostPath != nil {
		return filepath.Join(k.Dir, "host", v.HostPath.Path)
	}
	return filepath.Join(p.dir, "volumes", v.Name)
}

// makeWritable makes a folder that containers of all users may write to.
func makeWritable(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil { // #nosec G301 -- containers have other users
		return err
	}
	return os.Chmod(path, 0o777) // #nosec G302 -- containers have other users
}

// volumeFiles returns the files of a volume by path, nil if it is one that containers write to.
func (k *Kubelet) volumeFiles(ctx context.Context, p *Pod, v *volume, source corev1.VolumeSource) (map[string][]byte, error) {
	switch {
	case source.EmptyDir != nil, source.HostPath != nil:
		return nil, nil
	case source.Secret != nil:
		return k.source(p).Secret(ctx, source.Secret.SecretName, source.Secret.Items, source.Secret.Optional)
	case source.ConfigMap != nil:
		return k.source(p).ConfigMap(ctx, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
	case source.Projected != nil:
		files := map[string][]byte{}
		for i := range source.Projected.Sources {
			part, err := k.projectedFiles(ctx, p, v, &source.Projected.Sources[i])
			if err != nil {
				return nil, err
			}
			maps.Copy(files, part)
		}
		return files, nil
	}
	return nil, fmt.Errorf("volumes of this kind are not played: %s", source.String())
}

func (k *Kubelet) projectedFiles(ctx context.Context, p *Pod, v *volume, source *corev1.VolumeProjection) (map[string][]byte, error) {
	switch {
	case source.Secret != nil:
		return k.source(p).Secret(ctx, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
	case source.ConfigMap != nil:
		return k.source(p).ConfigMap(ctx, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
	case source.ServiceAccountToken != nil:
		value, err := k.token(ctx, p, v, source.ServiceAccountToken)
		return map[string][]byte{source.ServiceAccountToken.Path: []byte(value)}, err
	case source.DownwardAPI != nil:
		files := map[string][]byte{}
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef == nil {
				return nil, fmt.Errorf("files of this kind are not played: %s", item.String())
			}
			value, err := p.field(k, item.FieldRef.FieldPath)
			if err != nil {
				return nil, err
			}
			files[item.Path] = []byte(value)
		}
		return files, nil
	}
	return nil, fmt.Errorf("projected volumes of this kind are not played: %s", source.String())
}

// token returns the token of the pod's service account, a new one if the former is old.
func (k *Kubelet) token(ctx context.Context, p *Pod, v *volume, source *corev1.ServiceAccountTokenProjection) (string, error) {
	if known, ok := v.tokens[source.Path]; ok && time.Now().Before(known.renewal) {
		return known.value, nil
	}
	lifetime := int64(tokenLifetime)
	if source.ExpirationSeconds != nil {
		lifetime = *source.ExpirationSeconds
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &lifetime,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.key.Name, UID: p.uid},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.key.Namespace, Name: cmp.Or(p.object.Spec.ServiceAccountName, "default"),
	}}
	if err := k.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("make a token of service account %s: %w", account.Name, err)
	}
	v.tokens[source.Path] = token{value: request.Status.Token, renewal: time.Now().Add(time.Duration(lifetime) * time.Second * 4 / 5)}
	return request.Status.Token, nil
}

// source is where the pod reads from.
func (k *Kubelet) source(p *Pod) podspec.Source {
	return podspec.Source{Reader: k.Client, Namespace: p.key.Namespace}
}
