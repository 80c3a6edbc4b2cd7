// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"maps"
	"strings"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
)

// machineDeployments returns the machine deployments of all zones that are resolved or exist. Unresolved zones retain their class, and
// follow the pool in everything else. The machines of sites in quarantine are kept.
func machineDeployments(zones []*resolved, quarantines quarantines) worker.MachineDeployments {
	deployments := worker.MachineDeployments{}
	for _, z := range zones {
		className, secretName := z.className, z.className
		switch {
		case z.retained != nil:
			className, secretName = z.retained.className, z.retained.secretName
		case z.err != nil:
			continue
		}
		deployments = append(deployments, worker.MachineDeployment{
			Name:                         z.deploymentName,
			PoolName:                     z.spec.Name,
			ClassName:                    className,
			SecretName:                   secretName,
			Minimum:                      z.share.minimum,
			Maximum:                      z.share.maximum,
			Priority:                     z.share.priority,
			Strategy:                     strategy(z.zone),
			Labels:                       nodeLabels(z),
			Annotations:                  z.spec.Annotations,
			Taints:                       z.spec.Taints,
			MachineConfiguration:         machineConfiguration(z),
			ClusterAutoscalerAnnotations: machineapi.AutoscalerAnnotations(z.spec.ClusterAutoscaler, z.config.Site(z.siteName).ClusterAutoscaler),
			AutoPreserveFailedMachineMax: z.share.autoPreserveMax,
		})
		quarantines.keep(&deployments[len(deployments)-1])
	}
	return deployments
}

func strategy(z *zone) machinev1alpha1.MachineDeploymentStrategy {
	update := machinev1alpha1.UpdateConfiguration{MaxSurge: new(z.share.maxSurge), MaxUnavailable: new(z.share.maxUnavailable)}
	if !v1beta1helper.IsUpdateStrategyInPlace(z.spec.UpdateStrategy) {
		return machinev1alpha1.MachineDeploymentStrategy{
			Type:          machinev1alpha1.RollingUpdateMachineDeploymentStrategyType,
			RollingUpdate: &machinev1alpha1.RollingUpdateMachineDeployment{UpdateConfiguration: update},
		}
	}
	orchestration := machinev1alpha1.OrchestrationTypeAuto
	if v1beta1helper.IsUpdateStrategyManualInPlace(z.spec.UpdateStrategy) {
		orchestration = machinev1alpha1.OrchestrationTypeManual
	}
	return machinev1alpha1.MachineDeploymentStrategy{
		Type:          machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType,
		InPlaceUpdate: &machinev1alpha1.InPlaceUpdateMachineDeployment{UpdateConfiguration: update, OrchestrationType: orchestration},
	}
}

// topologyPrefix is the prefix of the node labels of CSI drivers.
const topologyPrefix = "topology."

// nodeLabels returns the labels of the pool and of the node's location. A zone that retains its machine class retains the labels that
// belong to the class.
func nodeLabels(z *resolved) map[string]string {
	labels := maps.Clone(z.spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if z.retained == nil {
		maps.Copy(labels, z.labels)
		labels[v1alpha1.LabelSite] = z.site.Name
		labels[v1alpha1.LabelPlatform] = string(z.site.Platform)
		return labels
	}
	for key, value := range z.retained.deployment.Spec.Template.Spec.NodeTemplateSpec.Labels {
		if belongsToClass(key) {
			labels[key] = value
		}
	}
	return labels
}

// belongsToClass returns whether a node label depends on the machine class: on the location of its machines, and on the only secret with
// an operating system config that their gardener-node-agents may read.
func belongsToClass(key string) bool {
	return key == v1alpha1.LabelSite || key == v1alpha1.LabelPlatform || strings.HasPrefix(key, topologyPrefix) ||
		key == v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName
}

// machineConfiguration returns the pool's settings, with the timeouts of the site as defaults. If the site of an existing zone is unknown,
// the zone retains its timeouts.
func machineConfiguration(z *resolved) *machinev1alpha1.MachineConfiguration {
	var (
		configuration = genericactuator.ReadMachineConfiguration(*z.spec)
		fallback      = &machinev1alpha1.MachineConfiguration{}
	)
	switch {
	case z.site != nil && z.site.Profile.Timeouts != nil:
		timeouts := z.site.Profile.Timeouts
		fallback.MachineCreationTimeout = timeouts.Creation
		fallback.MachineHealthTimeout = timeouts.Health
		fallback.MachineDrainTimeout = timeouts.Drain
	case z.site == nil && z.retained.deployment.Spec.Template.Spec.MachineConfiguration != nil:
		fallback = z.retained.deployment.Spec.Template.Spec.MachineConfiguration
	}
	configuration.MachineCreationTimeout = cmp.Or(configuration.MachineCreationTimeout, fallback.MachineCreationTimeout)
	configuration.MachineHealthTimeout = cmp.Or(configuration.MachineHealthTimeout, fallback.MachineHealthTimeout)
	configuration.MachineDrainTimeout = cmp.Or(configuration.MachineDrainTimeout, fallback.MachineDrainTimeout)
	return configuration
}
