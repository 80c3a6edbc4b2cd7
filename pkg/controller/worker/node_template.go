// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"maps"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// resourceGPU is the resource name that Gardener uses for the GPUs of a machine type.
const resourceGPU = corev1.ResourceName("gpu")

// nodeTemplate says what the cluster-autoscaler may expect of a node in the zone. The capacity is that of the machine type,
// with what the site says about it, with what the pool says about it.
func (d *delegate) nodeTemplate(p *pool, z *zone) *machinev1alpha1.NodeTemplate {
	template := &machinev1alpha1.NodeTemplate{
		Capacity:     corev1.ResourceList{},
		InstanceType: p.spec.MachineType,
		Region:       d.worker.Spec.Region,
		Zone:         z.name,
		Architecture: new(architecture(p)),
	}

	maps.Copy(template.Capacity, d.typeCapacity(p))
	if p.spec.NodeTemplate != nil {
		maps.Copy(template.Capacity, p.spec.NodeTemplate.Capacity)
		template.VirtualCapacity = maps.Clone(p.spec.NodeTemplate.VirtualCapacity)
	}
	maps.Copy(template.Capacity, z.machineType.Capacity)
	if p.config.NodeTemplate != nil {
		maps.Copy(template.Capacity, p.config.NodeTemplate.Capacity)
		if len(p.config.NodeTemplate.VirtualCapacity) > 0 && template.VirtualCapacity == nil {
			template.VirtualCapacity = corev1.ResourceList{}
		}
		maps.Copy(template.VirtualCapacity, p.config.NodeTemplate.VirtualCapacity)
	}
	return template
}

// typeCapacity returns what the CloudProfile says that the pool's machine type has.
func (d *delegate) typeCapacity(p *pool) corev1.ResourceList {
	machineType := v1beta1helper.FindMachineTypeByName(d.cluster.CloudProfile.Spec.MachineTypes, p.spec.MachineType)
	if machineType == nil {
		return corev1.ResourceList{}
	}
	return corev1.ResourceList{corev1.ResourceCPU: machineType.CPU, corev1.ResourceMemory: machineType.Memory, resourceGPU: machineType.GPU}
}

// machineCapacity returns what a machine of the pool has in the zone.
func (d *delegate) machineCapacity(p *pool, z *zone) corev1.ResourceList {
	capacity := d.typeCapacity(p)
	maps.Copy(capacity, z.machineType.Capacity)
	return capacity
}

func architecture(p *pool) string {
	return ptr.Deref(p.spec.Architecture, v1beta1constants.ArchitectureAMD64)
}
