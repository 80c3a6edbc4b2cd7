// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// valuesProvider gives Gardener's generic actuator the values of the charts. They come from the plan in the context.
type valuesProvider struct {
	reader client.Reader
}

var errNoPlan = errors.New("there is no plan for the ControlPlane")

// GetConfigChartValues returns the values of the chart with the configuration. Without a plan they are those of what is deployed.
func (v *valuesProvider) GetConfigChartValues(ctx context.Context, cp *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (map[string]any, error) {
	if p := planOf(ctx); p != nil {
		return encode(p.configValues())
	}
	return encode(v.deployedConfigValues(ctx, cp.Namespace))
}

// GetControlPlaneChartValues returns the values of the chart of what runs in the seed.
func (v *valuesProvider) GetControlPlaneChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster, secrets secretsmanager.Reader, _ map[string]string, scaledDown bool) (map[string]any, error) {
	p := planOf(ctx)
	if p == nil {
		return nil, errNoPlan
	}
	return p.seedValues(cluster, secrets, scaledDown)
}

// GetControlPlaneShootChartValues returns the values of the chart of what runs in the shoot.
func (v *valuesProvider) GetControlPlaneShootChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	cluster *extensionscontroller.Cluster, _ secretsmanager.Reader, _ map[string]string) (map[string]any, error) {
	p := planOf(ctx)
	if p == nil {
		return nil, errNoPlan
	}
	return p.shootValues(cluster)
}

// GetControlPlaneShootCRDsChartValues returns the values of the chart of custom resource definitions.
func (v *valuesProvider) GetControlPlaneShootCRDsChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (map[string]any, error) {
	p := planOf(ctx)
	if p == nil {
		return nil, errNoPlan
	}
	return encode(p.crdsValues(), nil)
}

// GetStorageClassesChartValues returns the values of the chart of storage classes.
func (v *valuesProvider) GetStorageClassesChartValues(ctx context.Context, _ *extensionsv1alpha1.ControlPlane,
	_ *extensionscontroller.Cluster) (map[string]any, error) {
	p := planOf(ctx)
	if p == nil {
		return nil, errNoPlan
	}
	return encode(p.storageClassesValues(), nil)
}

// encode makes values of a struct with JSON tags.
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
		return nil, fmt.Errorf("the values of a chart are no object: %w", err)
	}
	return result, nil
}

// encodeSubChart makes values of a sub-chart that is enabled. They may be nil.
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
