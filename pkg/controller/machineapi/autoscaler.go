// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineapi

import (
	"cmp"
	"time"

	extensionsv1alpha1helper "github.com/gardener/gardener/pkg/api/extensions/v1alpha1/helper"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// AutoscalerAnnotations returns the annotations of a MachineDeployment with the pool's settings of the cluster-autoscaler, overridden by
// those for the site. Both may be nil. The value of an annotation without a setting is empty.
func AutoscalerAnnotations(pool *extensionsv1alpha1.ClusterAutoscalerOptions, site *v1alpha1.SiteClusterAutoscaler) map[string]string {
	options := extensionsv1alpha1.ClusterAutoscalerOptions{}
	if pool != nil {
		options = *pool
	}
	if site != nil {
		options.ScaleDownUtilizationThreshold = cmp.Or(site.ScaleDownUtilizationThreshold, options.ScaleDownUtilizationThreshold)
		options.ScaleDownGpuUtilizationThreshold = cmp.Or(site.ScaleDownGpuUtilizationThreshold, options.ScaleDownGpuUtilizationThreshold)
		options.ScaleDownUnneededTime = cmp.Or(site.ScaleDownUnneededTime, options.ScaleDownUnneededTime)
		options.ScaleDownUnreadyTime = cmp.Or(site.ScaleDownUnreadyTime, options.ScaleDownUnreadyTime)
		options.MaxNodeProvisionTime = cmp.Or(site.MaxNodeProvisionTime, options.MaxNodeProvisionTime)
	}
	return extensionsv1alpha1helper.GetMachineDeploymentClusterAutoscalerAnnotations(&options)
}

// KeepNodes returns the annotations of a MachineDeployment whose nodes the cluster-autoscaler keeps for the duration, ready or not.
func KeepNodes(duration time.Duration) map[string]string {
	return map[string]string{
		extensionsv1alpha1.ScaleDownUnreadyTimeAnnotation:  duration.String(),
		extensionsv1alpha1.ScaleDownUnneededTimeAnnotation: duration.String(),
	}
}
