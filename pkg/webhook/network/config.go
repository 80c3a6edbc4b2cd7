// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"encoding/json"
	"fmt"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// config is the providerConfig of a Network. It belongs to another extension, whose other fields stay as they are, also those that
// this one does not know.
type config struct {
	fields  map[string]any
	changed bool
}

// readConfig returns the providerConfig, or an empty one of the API version.
func readConfig(network *extensionsv1alpha1.Network, apiVersion string) (*config, error) {
	c := &config{}
	if raw := network.Spec.ProviderConfig; raw != nil && len(bytes.TrimSpace(raw.Raw)) > 0 {
		if err := utiljson.Unmarshal(raw.Raw, &c.fields); err != nil {
			return nil, fmt.Errorf("spec.providerConfig: it is no object: %w", err)
		}
	}
	if c.fields == nil {
		c.fields = map[string]any{"apiVersion": apiVersion, "kind": "NetworkConfig"}
	}
	return c, nil
}

// write puts the configuration into the Network if it changed.
func (c *config) write(network *extensionsv1alpha1.Network) error {
	if !c.changed {
		return nil
	}
	raw, err := json.Marshal(c.fields)
	if err != nil {
		return err
	}
	network.Spec.ProviderConfig = &runtime.RawExtension{Raw: raw}
	return nil
}

// set changes a field.
func (c *config) set(field string, value any) {
	c.fields[field] = value
	c.changed = true
}

// flag returns whether a switch is on.
func (c *config) flag(path ...string) (bool, error) {
	value, _, err := unstructured.NestedBool(c.fields, path...)
	return value, describe(err, "true or false", path...)
}

// text returns a text, which is empty if there is none.
func (c *config) text(path ...string) (string, error) {
	value, _, err := unstructured.NestedString(c.fields, path...)
	return value, describe(err, "a text", path...)
}

// number returns a number of bytes, which is zero if there is none.
func (c *config) number(field string) (int32, error) {
	value, _, err := unstructured.NestedInt64(c.fields, field)
	if err == nil && (value < 0 || value > maxMTU) {
		err = errNoMTU
	}
	return int32(value), describe(err, mtuAllowed, field) // #nosec G115 -- at most maxMTU
}

// enableOverlay switches the overlay on if nobody said anything about it.
func (c *config) enableOverlay() {
	if c.fields[fieldOverlay] == nil {
		c.set(fieldOverlay, map[string]any{"enabled": true})
	}
}
