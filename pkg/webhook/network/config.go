// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/json"
	"fmt"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
)

// fieldOverlay is the same for all types.
const fieldOverlay = "overlay"

// config is the providerConfig of a Network. It belongs to another extension, whose other fields stay as they are, also those that
// this one does not know.
type config struct {
	podnetwork.Fields
	changed bool
}

// readConfig returns the providerConfig, or an empty one of the API version.
func readConfig(network *extensionsv1alpha1.Network, apiVersion string) (*config, error) {
	fields, err := podnetwork.Read(network.Spec.ProviderConfig)
	if err != nil {
		return nil, fmt.Errorf("spec.providerConfig: %w", err)
	}
	if fields == nil {
		fields = podnetwork.Fields{"apiVersion": apiVersion, "kind": "NetworkConfig"}
	}
	return &config{Fields: fields}, nil
}

// write puts the configuration into the Network if it changed.
func (c *config) write(network *extensionsv1alpha1.Network) error {
	if !c.changed {
		return nil
	}
	raw, err := json.Marshal(c.Fields)
	if err != nil {
		return err
	}
	network.Spec.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}

// set changes a field.
func (c *config) set(field string, value any) {
	c.Fields[field] = value
	c.changed = true
}

// enableOverlay switches the overlay on if nobody said anything about it.
func (c *config) enableOverlay() {
	if !c.Has(fieldOverlay) {
		c.set(fieldOverlay, map[string]any{"enabled": true})
	}
}
