// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"maps"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/pkg/utils"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
)

// seedValues are the values of the chart of what runs in the seed, without the storage drivers.
type seedValues struct {
	Global                 seedGlobal                   `json:"global"`
	CloudControllerManager cloudControllerManagerValues `json:"cloud-controller-manager"`
	SnapshotController     toggle                       `json:"csi-snapshot-controller"`
}

// seedGlobal are the values that each sub-chart sees.
type seedGlobal struct {
	KubernetesVersion                string `json:"kubernetesVersion"`
	GenericTokenKubeconfigSecretName string `json:"genericTokenKubeconfigSecretName"`
	Replicas                         int    `json:"replicas"`
}

type cloudControllerManagerValues struct {
	Enabled         bool     `json:"enabled"`
	ConfigMap       string   `json:"configMap"`
	ServerSecret    string   `json:"serverSecret"`
	CABundleSecret  string   `json:"caBundleSecret"`
	TLSCipherSuites []string `json:"tlsCipherSuites"`
	FeatureGates    []string `json:"featureGates"`
}

// toggle says whether something is deployed.
type toggle struct {
	Enabled bool `json:"enabled"`
}

func (p *plan) seedValues(cluster *extensionscontroller.Cluster, secrets secretsmanager.Reader, scaledDown bool) (map[string]any, error) {
	server, found := secrets.Get(serverCertName)
	if !found {
		return nil, fmt.Errorf("secret %q not found", serverCertName)
	}
	ca, found := secrets.Get(caName)
	if !found {
		return nil, fmt.Errorf("secret %q not found", caName)
	}
	values, err := encode(&seedValues{
		Global: seedGlobal{
			KubernetesVersion:                cluster.Shoot.Spec.Kubernetes.Version,
			GenericTokenKubeconfigSecretName: extensionscontroller.GenericTokenKubeconfigSecretNameFromCluster(cluster),
			Replicas:                         extensionscontroller.GetControlPlaneReplicas(cluster, scaledDown, 1),
		},
		CloudControllerManager: cloudControllerManagerValues{
			Enabled:         true,
			ConfigMap:       configMapName,
			ServerSecret:    server.Name,
			CABundleSecret:  ca.Name,
			TLSCipherSuites: kubernetesutils.TLSCipherSuites,
			FeatureGates:    p.featureGates(),
		},
		SnapshotController: toggle{p.hasCSI()},
	}, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range p.storages {
		sub, err := encodeSubChart(s.ControlPlane)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", s.chart.Name, err)
		}
		sub["configChecksum"] = utils.ComputeChecksum(s.Files)
		values[s.chart.Name] = sub
	}
	return values, nil
}

// featureGates are those of the cloud-controller-manager as its flag wants them.
func (p *plan) featureGates() []string {
	gates := []string{}
	if manager := p.config.CloudControllerManager; manager != nil {
		for _, gate := range slices.Sorted(maps.Keys(manager.FeatureGates)) {
			gates = append(gates, fmt.Sprintf("%s=%t", gate, manager.FeatureGates[gate]))
		}
	}
	return gates
}
