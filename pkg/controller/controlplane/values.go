// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils"
	kubernetesutils "github.com/gardener/gardener/pkg/utils/kubernetes"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
)

// valuesProvider returns the values of the charts to Gardener's generic actuator. They come from the plan in the context.
type valuesProvider struct {
	reader client.Reader
}

var errNoPlan = errors.New("no plan for the ControlPlane")

// GetConfigChartValues returns the values of the chart with the configuration. Without a plan they are the deployed ones.
func (v *valuesProvider) GetConfigChartValues(ctx context.Context, cp *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (map[string]any, error) {
	if p := planOf(ctx); p != nil {
		return encode(p.configValues())
	}
	return encode(v.deployedConfigValues(ctx, cp.Namespace))
}

// GetControlPlaneChartValues returns the values of the chart for the seed.
func (v *valuesProvider) GetControlPlaneChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster, secrets secretsmanager.Reader, _ map[string]string, scaledDown bool) (map[string]any, error) {
	return planned(ctx, func(p *plan) (map[string]any, error) { return p.seedValues(cluster, secrets, scaledDown) })
}

// GetControlPlaneShootChartValues returns the values of the chart for the shoot.
func (v *valuesProvider) GetControlPlaneShootChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster, _ secretsmanager.Reader, _ map[string]string) (map[string]any, error) {
	return planned(ctx, func(p *plan) (map[string]any, error) { return p.shootValues(cluster) })
}

// GetControlPlaneShootCRDsChartValues returns the values of the chart of custom resource definitions.
func (v *valuesProvider) GetControlPlaneShootCRDsChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (map[string]any, error) {
	return planned(ctx, func(p *plan) (map[string]any, error) { return encode(p.crdsValues(), nil) })
}

// GetStorageClassesChartValues returns the values of the chart of storage classes.
func (v *valuesProvider) GetStorageClassesChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (map[string]any, error) {
	return planned(ctx, func(p *plan) (map[string]any, error) { return encode(p.storageClassesValues(), nil) })
}

// planned returns values of the plan in the context.
func planned(ctx context.Context, values func(*plan) (map[string]any, error)) (map[string]any, error) {
	p := planOf(ctx)
	if p == nil {
		return nil, errNoPlan
	}
	return values(p)
}

// encode converts a struct with JSON tags to values.
func encode(values any, err error) (map[string]any, error) {
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding the values of a chart: %w", err)
	}
	result := map[string]any{}
	if err := json.Unmarshal(data, &result); err != nil {
		return nil, fmt.Errorf("decoding the values of a chart: %w", err)
	}
	return result, nil
}

// encodeSubChart returns the values of an enabled sub-chart. values may be nil.
func encodeSubChart(values any) (map[string]any, error) {
	if values == nil {
		return map[string]any{"enabled": true}, nil
	}
	result, err := encode(values, nil)
	if err != nil {
		return nil, err
	}
	result["enabled"] = true
	return result, nil
}

// seedValues are the values of the chart for the seed, without the storage drivers.
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

// toggle enables a sub-chart.
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

// featureGates returns the feature gates of the cloud-controller-manager in the format of its flag.
func (p *plan) featureGates() []string {
	gates := []string{}
	if manager := p.config.CloudControllerManager; manager != nil {
		for _, gate := range slices.Sorted(maps.Keys(manager.FeatureGates)) {
			gates = append(gates, fmt.Sprintf("%s=%t", gate, manager.FeatureGates[gate]))
		}
	}
	return gates
}

// shootValues are the values of the chart for the shoot, without the storage drivers.
type shootValues struct {
	Global                 shootGlobal `json:"global"`
	CloudControllerManager toggle      `json:"cloud-controller-manager"`
	SnapshotController     toggle      `json:"csi-snapshot-controller"`
}

// shootGlobal are the values that each sub-chart sees.
type shootGlobal struct {
	KubernetesVersion string `json:"kubernetesVersion"`
}

func (p *plan) shootValues(cluster *extensionscontroller.Cluster) (map[string]any, error) {
	values, err := encode(&shootValues{
		Global:                 shootGlobal{KubernetesVersion: cluster.Shoot.Spec.Kubernetes.Version},
		CloudControllerManager: toggle{true},
		SnapshotController:     toggle{p.hasCSI()},
	}, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range p.storages {
		if values[s.chart.Name], err = encodeSubChart(s.Shoot); err != nil {
			return nil, fmt.Errorf("chart %s: %w", s.chart.Name, err)
		}
	}
	if balancers := p.metalLB(); balancers != nil {
		if values[metalLB], err = encodeSubChart(balancers); err != nil {
			return nil, fmt.Errorf("chart %s: %w", metalLB, err)
		}
	}
	return values, nil
}

// metalLB returns the values of MetalLB, nil if no site uses it.
func (p *plan) metalLB() *metallb.ChartValues {
	var settings []v1alpha1.ControlPlaneSite
	for _, s := range p.sites {
		if s.used {
			settings = append(settings, s.Settings)
		}
	}
	return metallb.Values(settings, p.defaultSite)
}

// crdsValues are the values of the chart of custom resource definitions: snapshots, metallb and the platforms whose storage driver
// is deployed.
type crdsValues map[string]toggle

const snapshots = "snapshots"

func (p *plan) crdsValues() crdsValues {
	values := crdsValues{
		snapshots: {p.hasCSI()},
		metalLB:   {p.metalLB() != nil},
	}
	for _, s := range p.storages {
		values[string(s.platform)] = toggle{true}
	}
	return values
}
