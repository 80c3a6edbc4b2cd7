// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"encoding/json"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
)

const overlayField = "overlay"

// networkAPIVersions are those of the providerConfig of the networks that have an overlay.
var networkAPIVersions = map[string]string{
	podnetwork.TypeCalico: "calico.networking.extensions.gardener.cloud/v1alpha1",
	podnetwork.TypeCilium: "cilium.networking.extensions.gardener.cloud/v1alpha1",
}

// enableOverlay switches the overlay of pods on if nobody said anything about it: no site routes the pods of another one.
func enableOverlay(networking *gardencorev1beta1.Networking) error {
	if networking == nil || networking.Type == nil {
		return nil
	}
	apiVersion, ok := networkAPIVersions[*networking.Type]
	if !ok {
		return nil
	}
	if fields, err := podnetwork.Read(networking.ProviderConfig); err == nil && !fields.Has(overlayField) {
		return setOverlay(networking, fields, apiVersion)
	}
	return nil
}

func setOverlay(networking *gardencorev1beta1.Networking, fields podnetwork.Fields, apiVersion string) error {
	if fields == nil {
		fields = podnetwork.Fields{"apiVersion": apiVersion, "kind": "NetworkConfig"}
	}
	fields[overlayField] = map[string]any{"enabled": true}
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encoding spec.networking.providerConfig: %w", err)
	}
	networking.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}
