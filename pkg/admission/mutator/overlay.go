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

const vxlanField = "vxlan"

// encapsulationFields are the fields that select Calico's encapsulation.
var encapsulationFields = []string{vxlanField, "wireguardEncryption", "backend", "ipv4", "ipip"}

// enableOverlay enables the overlay of the pod network unless the Shoot says otherwise, because no site routes the pods of another. For a
// new Shoot with Calico it also selects VXLAN unless another encapsulation is set, because Calico's default, IP in IP, does not pass
// between sites.
func enableOverlay(networking *gardencorev1beta1.Networking, isNew bool) error {
	if networking == nil || networking.Type == nil {
		return nil
	}
	fields, err := podnetwork.ReadConfig(*networking.Type, networking.ProviderConfig)
	if err != nil || fields == nil {
		return nil //nolint:nilerr // validation reports the error
	}
	changed := fields.EnableOverlay()
	overlay, err := fields.Flag(podnetwork.FieldOverlay, "enabled")
	if isNew && *networking.Type == podnetwork.TypeCalico && overlay && err == nil &&
		!slices.ContainsFunc(encapsulationFields, func(name string) bool { return fields.Has(name) }) {
		fields[vxlanField] = map[string]any{"enabled": true}
		changed = true
	}
	if !changed {
		return nil
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encoding spec.networking.providerConfig: %w", err)
	}
	networking.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}
