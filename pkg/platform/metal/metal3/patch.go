// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"cmp"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// formatRaw is the default format of images.
const formatRaw = "raw"

// A patch has only the fields that it changes. A nil field is removed.

// claimSpec makes a host a machine.
type claimSpec struct {
	ConsumerRef           corev1.ObjectReference               `json:"consumerRef"`
	Image                 *metal3v1alpha1.Image                `json:"image,omitempty"`
	UserData              *corev1.SecretReference              `json:"userData"`
	MetaData              *corev1.SecretReference              `json:"metaData"`
	NetworkData           *corev1.SecretReference              `json:"networkData,omitempty"`
	AutomatedCleaningMode metal3v1alpha1.AutomatedCleaningMode `json:"automatedCleaningMode"`
	Online                bool                                 `json:"online"`
}

// deprovisionSpec removes the machine from a host.
type deprovisionSpec struct {
	Image                 *metal3v1alpha1.Image                `json:"image"`
	UserData              *corev1.SecretReference              `json:"userData"`
	MetaData              *corev1.SecretReference              `json:"metaData"`
	NetworkData           *corev1.SecretReference              `json:"networkData"`
	AutomatedCleaningMode metal3v1alpha1.AutomatedCleaningMode `json:"automatedCleaningMode"`
	Online                bool                                 `json:"online"`
}

// freeSpec removes the consumer from a host.
type freeSpec struct {
	ConsumerRef *corev1.ObjectReference `json:"consumerRef"`
}

// claimPatch makes the host the machine, and never replaces an image.
func claimPatch(host *metal3v1alpha1.BareMetalHost, o owner.Owner, request *inventory.Claim, data inventory.Data) any {
	reference := &corev1.SecretReference{Namespace: host.Namespace, Name: request.Machine}
	result := hosts.Patch[claimSpec]{
		Metadata: hosts.Metadata{
			ResourceVersion: host.ResourceVersion,
			Labels:          hosts.Pointers(o.MachineLabels(request.Machine)),
			Annotations:     hosts.Pointers(map[string]string{owner.AnnotationNode: data.NodeName}),
		},
		Spec: claimSpec{
			ConsumerRef:           o.Reference(request.Machine),
			UserData:              reference,
			MetaData:              reference,
			AutomatedCleaningMode: metal3v1alpha1.AutomatedCleaningMode(request.Cleaning),
			Online:                true,
		},
	}
	if host.Spec.Image == nil {
		result.Spec.Image = imageOf(&request.Image)
	}
	if len(data.NetworkData) > 0 {
		if former := host.Spec.NetworkData; former != nil && !isData(former, request.Machine) {
			result.Metadata.Annotations[owner.AnnotationNetworkData] = new(former.Namespace + "/" + former.Name)
		}
		result.Spec.NetworkData = reference
	}
	return result
}

// imageOf returns an image as baremetal-operator has it. It boots a live ISO without looking at its checksum.
func imageOf(image *v1alpha1.MetalImage) *metal3v1alpha1.Image {
	result := &metal3v1alpha1.Image{URL: image.URL, DiskFormat: new(cmp.Or(image.Format, formatRaw))}
	if !result.IsLiveISO() && image.Checksum != "" {
		result.Checksum = image.Checksum
		result.ChecksumType = metal3v1alpha1.ChecksumType(cmp.Or(image.ChecksumType, string(metal3v1alpha1.SHA256)))
	}
	return result
}
