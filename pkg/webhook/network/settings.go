// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"strconv"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
)

// setting is how a type of Network is told the MTU.
type setting struct {
	// apiVersion is that of the providerConfig.
	apiVersion string
	// apply changes the configuration for node networks that carry so many bytes. Errors begin with the field.
	apply func(c *config, families []extensionsv1alpha1.IPFamily, carried int32) error
}

// settings are those of the types that are known.
var settings = map[string]setting{
	podnetwork.TypeCalico: {apiVersion: "calico.networking.extensions.gardener.cloud/v1alpha1", apply: applyCalico},
	podnetwork.TypeCilium: {apiVersion: "cilium.networking.extensions.gardener.cloud/v1alpha1", apply: applyCilium},
}

// applyCalico sets the MTU of pods, which is that of the node networks without the encapsulation. Calico uses it for tunnels too.
func applyCalico(c *config, families []extensionsv1alpha1.IPFamily, carried int32) error {
	c.enableOverlay()
	ipv6 := slices.Contains(families, extensionsv1alpha1.IPFamilyIPv6)
	encapsulation, err := c.CalicoEncapsulation(ipv6)
	if err != nil {
		return err
	}
	asked, err := c.CalicoMTU()
	if err != nil {
		return err
	}
	current, _ := c.Text(podnetwork.FieldVethMTU)
	if wanted := strconv.Itoa(int(smaller(asked, carried-encapsulation.Overhead(ipv6)))); wanted != current {
		c.set(podnetwork.FieldVethMTU, wanted)
	}
	return nil
}

// applyCilium sets the MTU of the node networks. Cilium takes the encapsulation off itself.
func applyCilium(c *config, _ []extensionsv1alpha1.IPFamily, carried int32) error {
	c.enableOverlay()
	asked, err := c.CiliumMTU()
	if err != nil {
		return err
	}
	if wanted := smaller(asked, carried); wanted != asked {
		c.set(podnetwork.FieldMTU, int64(wanted))
	}
	return nil
}
