// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"encoding/json"
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
)

const (
	overlayField = "overlay"
	vxlanField   = "vxlan"
)

// encapsulationFields are those that say how Calico carries packets of pods.
var encapsulationFields = []string{vxlanField, "wireguardEncryption", "backend", "ipv4", "ipip"}

// networkAPIVersions are those of the providerConfig of the networks that have an overlay.
var networkAPIVersions = map[string]string{
	podnetwork.TypeCalico: "calico.networking.extensions.gardener.cloud/v1alpha1",
	podnetwork.TypeCilium: "cilium.networking.extensions.gardener.cloud/v1alpha1",
}

// enableOverlay switches the overlay of pods on if nobody said anything about it: no site routes the pods of another one. In a new Shoot
// the overlay of Calico is VXLAN unless something else is asked for, because its own default, IP in IP, does not pass between sites.
func enableOverlay(networking *gardencorev1beta1.Networking, isNew bool) error {
	if networking == nil || networking.Type == nil {
		return nil
	}
	apiVersion, ok := networkAPIVersions[*networking.Type]
	if !ok {
		return nil
	}
	fields, err := podnetwork.Read(networking.ProviderConfig)
	if err != nil {
		return nil //nolint:nilerr // what cannot be read is for validation to say
	}
	overlay := !fields.Has(overlayField)
	vxlan := isNew && *networking.Type == podnetwork.TypeCalico && (overlay || isOn(fields)) &&
		!slices.ContainsFunc(encapsulationFields, func(name string) bool { return fields.Has(name) })
	if !overlay && !vxlan {
		return nil
	}
	if fields == nil {
		fields = podnetwork.Fields{"apiVersion": apiVersion, "kind": "NetworkConfig"}
	}
	if overlay {
		fields[overlayField] = enabled()
	}
	if vxlan {
		fields[vxlanField] = enabled()
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encoding spec.networking.providerConfig: %w", err)
	}
	networking.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}

// isOn returns whether somebody switched the overlay on.
func isOn(fields podnetwork.Fields) bool {
	on, err := fields.Flag(overlayField, "enabled")
	return err == nil && on
}

func enabled() map[string]any {
	return map[string]any{"enabled": true}
}
