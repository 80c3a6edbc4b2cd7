// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"cmp"
	"context"
	"encoding/json"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// formatRaw is the default format of images.
const formatRaw = "raw"

// A patch has the resource version of the host, so that it fails if the host was changed meanwhile, and only the fields that it changes. A
// nil field is removed.

// metadata is what a patch changes of the metadata.
type metadata struct {
	ResourceVersion string             `json:"resourceVersion"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

// patch is what is changed of a host.
type patch[S any] struct {
	Metadata metadata `json:"metadata"`
	Spec     S        `json:"spec"`
}

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

// patch sends a patch of the host, which is updated with the answer.
func (i *Inventory) patch(ctx context.Context, host *metal3v1alpha1.BareMetalHost, patch any) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return i.Client().Patch(ctx, host, client.RawPatch(types.MergePatchType, raw))
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

// pointers returns the values as what a patch sets.
func pointers(values map[string]string) map[string]*string {
	result := make(map[string]*string, len(values))
	for key, value := range values {
		result[key] = &value
	}
	return result
}
