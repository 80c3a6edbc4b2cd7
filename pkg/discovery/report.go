// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// NewReport returns a report of what was discovered.
func NewReport(found []Discovered) *v1alpha1.DiscoveryReport {
	return &v1alpha1.DiscoveryReport{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "DiscoveryReport"},
		Sites:    lists.Map(found, siteOf),
	}
}

func siteOf(found Discovered) v1alpha1.DiscoveredSite {
	reported := v1alpha1.DiscoveredSite{Name: found.Site.Name, Platform: found.Site.Platform}
	if found.Err != nil {
		reported.Error = found.Err.Error()
		return reported
	}
	for i := range found.Offer.Objects {
		object := &found.Offer.Objects[i]
		reported.Objects = append(reported.Objects, v1alpha1.DiscoveredObject{
			Kind: string(object.Kind), Name: object.Name, ID: object.ID, Labels: object.Labels, Count: object.Count, Free: object.Free,
			Capacity: capacityOf(object), Architecture: object.Architecture, OS: object.OS, Version: object.Version, Unusable: object.Unusable,
			Deprecated: object.Deprecated,
		})
	}
	for _, quota := range found.Offer.Quotas {
		reported.Quotas = append(reported.Quotas, v1alpha1.DiscoveredQuota{
			Resource: string(quota.Resource), Used: amount(quota.Used, quota.Resource), Limit: amount(quota.Limit, quota.Resource),
		})
	}
	reported.LeftOut = lists.Map(found.Offer.Omitted, func(omitted platform.Omission) v1alpha1.DiscoveryOmission {
		return v1alpha1.DiscoveryOmission{Kind: string(omitted.Kind), Name: omitted.Name, Reason: omitted.Reason}
	})
	return reported
}

func capacityOf(object *platform.Object) corev1.ResourceList {
	if object.CPUs == 0 && object.Memory == 0 {
		return nil
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(object.CPUs, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(object.Memory, resource.BinarySI),
	}
	if object.GPUs > 0 {
		capacity[gpu] = *resource.NewQuantity(object.GPUs, resource.DecimalSI)
	}
	return capacity
}

func amount(value float64, of platform.Resource) resource.Quantity {
	format := resource.DecimalSI
	if of == platform.ResourceMemory || of == platform.ResourceStorage {
		format = resource.BinarySI
	}
	return *resource.NewQuantity(int64(value), format)
}
