// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// defaultNodeMask and defaultNodeMaskIPv6 are Gardener's defaults for the pod range of a node.
	defaultNodeMask     = 24
	defaultNodeMaskIPv6 = 64
	// maxNodesShift keeps the number of nodes small enough to count.
	maxNodesShift = 30
)

// PodRange compares the maximum number of nodes of the pools with the capacity of the pod range.
type PodRange struct {
	// wanted is the sum of the pools' maxima. A pool with maxima for its sites has the sum of these.
	wanted int64
	// room is the number of nodes that the pod range has room for, zero if unknown.
	room int64

	pods string
	mask int32
	name string
}

// PodRangeOf returns the PodRange of a Shoot.
func PodRangeOf(spec *gardencorev1beta1.ShootSpec) PodRange {
	result := PodRange{}
	for i := range spec.Provider.Workers {
		result.wanted += maximumOf(&spec.Provider.Workers[i])
	}
	if spec.Networking == nil || spec.Networking.Pods == nil {
		return result
	}
	prefix, err := netip.ParsePrefix(*spec.Networking.Pods)
	if err != nil {
		return result
	}
	result.pods = prefix.String()
	result.name, result.mask = "nodeCIDRMaskSize", defaultNodeMask
	manager := spec.Kubernetes.KubeControllerManager
	if manager != nil && manager.NodeCIDRMaskSize != nil {
		result.mask = *manager.NodeCIDRMaskSize
	}
	if prefix.Addr().Is6() {
		switch {
		case manager != nil && manager.NodeCIDRMaskSizeIPv6 != nil:
			result.name, result.mask = "nodeCIDRMaskSizeIPv6", *manager.NodeCIDRMaskSizeIPv6
		case manager == nil || manager.NodeCIDRMaskSize == nil:
			result.mask = defaultNodeMaskIPv6
		}
	}
	if shift := int(result.mask) - prefix.Bits(); shift >= 0 {
		result.room = 1 << min(shift, maxNodesShift)
	}
	return result
}

// ValidatePodRange checks that each node that the pools may have gets a range for its pods. A Shoot that exceeded the range before
// may stay unchanged; before is nil for a new one. fldPath is the path of the Shoot's specification.
func ValidatePodRange(spec PodRange, before *PodRange, fldPath *field.Path) field.ErrorList {
	if spec.room == 0 || spec.wanted <= spec.room || before != nil && spec.wanted <= before.wanted && spec.room >= before.room {
		return nil
	}
	return field.ErrorList{field.Invalid(fldPath.Child("kubernetes", "kubeControllerManager", spec.name), spec.mask,
		fmt.Sprintf("allows %d nodes in spec.networking.pods, which is %s, but the maxima of all pools and sites add up to %d", spec.room,
			spec.pods, spec.wanted))}
}

// maximumOf returns the maximum number of machines of a pool.
func maximumOf(worker *gardencorev1beta1.Worker) int64 {
	var onSites int64
	for _, site := range workerConfigOf(worker).Sites {
		if site.Maximum != nil {
			onSites += int64(*site.Maximum)
		}
	}
	if onSites > 0 {
		return onSites
	}
	return int64(worker.Maximum)
}
