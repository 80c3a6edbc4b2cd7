// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
)

const (
	configMapName = cloudControllerManager + "-config"
	configKey     = "config.yaml"
	// configSecretSuffix follows the name of a storage driver's chart in the name of the Secret with its configuration.
	configSecretSuffix = "-config"
)

// configValues are the values of the chart with the configuration.
type configValues struct {
	// Config is the configuration file of the cloud-controller-manager. It is not deployed if empty.
	Config string `json:"config"`
	// Secrets are the files of the Secrets of the storage drivers, by the names of the Secrets.
	Secrets map[string]map[string]string `json:"secrets"`
}

func (p *plan) configValues() (*configValues, error) {
	raw, err := codec.Encode(p.controllers)
	if err != nil {
		return nil, err
	}
	config, err := yaml.JSONToYAML(raw.Raw)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration of the cloud-controller-manager: %w", err)
	}
	values := &configValues{Config: string(config), Secrets: map[string]map[string]string{}}
	for _, s := range p.storages {
		if len(s.Files) > 0 {
			values.Secrets[s.chart.Name+configSecretSuffix] = s.Files
		}
	}
	return values, nil
}

// deployedConfigValues returns the values of the deployed configuration.
func (v *valuesProvider) deployedConfigValues(ctx context.Context, namespace string) (*configValues, error) {
	values := &configValues{}
	configMap := &corev1.ConfigMap{}
	if err := v.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: configMapName}, configMap); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the deployed configuration: %w", err)
	}
	values.Config = configMap.Data[configKey]

	var err error
	values.Secrets, err = deployedSecrets(ctx, v.reader, namespace)
	return values, err
}

// deployedSecrets returns the deployed files of the storage drivers, by the names of their Secrets.
func deployedSecrets(ctx context.Context, reader client.Reader, namespace string) (map[string]map[string]string, error) {
	secrets := &corev1.SecretList{}
	if err := reader.List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{charts.LabelStorageConfig: "true"}); err != nil {
		return nil, fmt.Errorf("reading the deployed configuration: %w", err)
	}
	result := map[string]map[string]string{}
	for _, secret := range secrets.Items {
		files := map[string]string{}
		for name, content := range secret.Data {
			files[name] = string(content)
		}
		result[secret.Name] = files
	}
	return result, nil
}
