// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"

	extensionsv1alpha1helper "github.com/gardener/gardener/pkg/api/extensions/v1alpha1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

// clusterAutoscalerAnnotations returns the pool's settings of the cluster-autoscaler, overridden by those for the zone's site.
func clusterAutoscalerAnnotations(z *resolved) map[string]string {
	options := extensionsv1alpha1.ClusterAutoscalerOptions{}
	if z.spec.ClusterAutoscaler != nil {
		options = *z.spec.ClusterAutoscaler
	}
	if own := z.workerSite(z.siteName).ClusterAutoscaler; own != nil {
		options.ScaleDownUtilizationThreshold = cmp.Or(own.ScaleDownUtilizationThreshold, options.ScaleDownUtilizationThreshold)
		options.ScaleDownGpuUtilizationThreshold = cmp.Or(own.ScaleDownGpuUtilizationThreshold, options.ScaleDownGpuUtilizationThreshold)
		options.ScaleDownUnneededTime = cmp.Or(own.ScaleDownUnneededTime, options.ScaleDownUnneededTime)
		options.ScaleDownUnreadyTime = cmp.Or(own.ScaleDownUnreadyTime, options.ScaleDownUnreadyTime)
		options.MaxNodeProvisionTime = cmp.Or(own.MaxNodeProvisionTime, options.MaxNodeProvisionTime)
	}
	return extensionsv1alpha1helper.GetMachineDeploymentClusterAutoscalerAnnotations(&options)
}
