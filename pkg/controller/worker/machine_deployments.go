// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"maps"
	"strings"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	extensionsv1alpha1helper "github.com/gardener/gardener/pkg/api/extensions/v1alpha1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// machineDeployments returns those of all zones that could be resolved or exist. Zones that could not be resolved keep their
// class; everything else follows the pool.
func (d *delegate) machineDeployments(p *plan) worker.MachineDeployments {
	deployments := worker.MachineDeployments{}
	p.zones(func(pool *pool, z *zone) {
		if !z.wanted() {
			return
		}
		share := d.share(pool, z)
		deployment := worker.MachineDeployment{
			Name:                         z.deploymentName,
			PoolName:                     pool.spec.Name,
			ClassName:                    z.className,
			SecretName:                   z.className,
			Minimum:                      share.minimum,
			Maximum:                      share.maximum,
			Priority:                     share.priority,
			Strategy:                     strategy(pool, share),
			Labels:                       nodeLabels(pool, z),
			Annotations:                  pool.spec.Annotations,
			Taints:                       pool.spec.Taints,
			MachineConfiguration:         machineConfiguration(pool, z),
			ClusterAutoscalerAnnotations: extensionsv1alpha1helper.GetMachineDeploymentClusterAutoscalerAnnotations(pool.spec.ClusterAutoscaler),
			AutoPreserveFailedMachineMax: share.autoPreserveMax,
		}
		if z.kept != nil {
			deployment.ClassName = z.kept.className
			deployment.SecretName = z.kept.secretName
		}
		deployments = append(deployments, deployment)
	})
	return deployments
}

// rolling is nil if the pool's machines are updated in place.
func rolling(p *pool, s share) *platform.Rolling {
	if strategy(p, s).Type != machinev1alpha1.RollingUpdateMachineDeploymentStrategyType {
		return nil
	}
	return &platform.Rolling{MaxSurge: s.maxSurge, MaxUnavailable: s.maxUnavailable}
}

func strategy(p *pool, s share) machinev1alpha1.MachineDeploymentStrategy {
	update := machinev1alpha1.UpdateConfiguration{MaxSurge: &s.maxSurge, MaxUnavailable: &s.maxUnavailable}
	inPlace := func(orchestration machinev1alpha1.OrchestrationType) machinev1alpha1.MachineDeploymentStrategy {
		return machinev1alpha1.MachineDeploymentStrategy{
			Type: machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
			InPlaceUpdate: &machinev1alpha1.InPlaceUpdateMachineDeployment{
				UpdateConfiguration: update,
				OrchestrationType:   orchestration,
			},
		}
	}

	switch ptr.Deref(p.spec.UpdateStrategy, "") {
	case gardencorev1beta1.AutoInPlaceUpdate:
		return inPlace(machinev1alpha1.OrchestrationTypeAuto)
	case gardencorev1beta1.ManualInPlaceUpdate:
		return inPlace(machinev1alpha1.OrchestrationTypeManual)
	default:
		return machinev1alpha1.MachineDeploymentStrategy{
			Type:          machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: update},
		}
	}
}

// topologyPrefix is how the node labels of CSI drivers begin.
const topologyPrefix = "topology."

// nodeLabels returns the labels of the nodes: those of the pool and those that say where the node is. A zone that keeps its
// machine class keeps those that go with it.
func nodeLabels(p *pool, z *zone) map[string]string {
	labels := maps.Clone(p.spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if z.kept == nil {
		maps.Copy(labels, z.labels)
		labels[v1alpha1.LabelSite] = z.site.Name
		labels[v1alpha1.LabelPlatform] = string(z.site.Platform)
		return labels
	}
	for key, value := range z.kept.deployment.Spec.Template.Spec.NodeTemplateSpec.Labels {
		if goesWithClass(key) {
			labels[key] = value
		}
	}
	return labels
}

// goesWithClass reports whether a node label is about the machines that a machine class has made: where they are, and the only
// secret with an operating system config that their gardener-node-agents may read.
func goesWithClass(key string) bool {
	return key == v1alpha1.LabelSite || key == v1alpha1.LabelPlatform || strings.HasPrefix(key, topologyPrefix) ||
		key == v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName
}

// machineConfiguration returns the pool's settings, and the timeouts of the site where the pool has none. If the site of an
// existing zone is not known any more it keeps its timeouts.
func machineConfiguration(p *pool, z *zone) *machinev1alpha1.MachineConfiguration {
	var (
		configuration = genericactuator.ReadMachineConfiguration(*p.spec)
		fallback      = &machinev1alpha1.MachineConfiguration{}
	)
	switch {
	case z.site != nil && z.site.Profile.Timeouts != nil:
		timeouts := z.site.Profile.Timeouts
		fallback.MachineCreationTimeout = timeouts.Creation
		fallback.MachineHealthTimeout = timeouts.Health
		fallback.MachineDrainTimeout = timeouts.Drain
	case z.site == nil && z.kept.deployment.Spec.Template.Spec.MachineConfiguration != nil:
		fallback = z.kept.deployment.Spec.Template.Spec.MachineConfiguration
	}
	if configuration.MachineCreationTimeout == nil {
		configuration.MachineCreationTimeout = fallback.MachineCreationTimeout
	}
	if configuration.MachineHealthTimeout == nil {
		configuration.MachineHealthTimeout = fallback.MachineHealthTimeout
	}
	if configuration.MachineDrainTimeout == nil {
		configuration.MachineDrainTimeout = fallback.MachineDrainTimeout
	}
	return configuration
}
