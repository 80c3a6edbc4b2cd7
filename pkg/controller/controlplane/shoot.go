// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/metallb"
)

// shootValues are the values of the chart of what runs in the shoot, without the storage drivers.
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

// metalLB are the values of the load balancers that nodes themselves are, nil if there are none.
func (p *plan) metalLB() *metallb.ChartValues {
	var settings []v1alpha1.ControlPlaneSite
	for _, s := range p.sites {
		if s.used {
			settings = append(settings, s.Settings)
		}
	}
	return metallb.Values(settings, p.defaultSite)
}
