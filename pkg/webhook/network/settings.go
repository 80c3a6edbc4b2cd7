// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

const (
	typeCalico = "calico"
	typeCilium = "cilium"

	fieldOverlay = "overlay"
	fieldVethMTU = "vethMTU"
	fieldMTU     = "mtu"

	// maxMTU is the largest size of an IP packet, in bytes.
	maxMTU = 65535
)

// What an encapsulation adds to each packet, in bytes: in an outer packet of IPv4 and of IPv6.
const (
	overheadIPIP        = 20
	overheadVXLAN       = 50
	overheadVXLANv6     = 70
	overheadWireGuard   = 60
	overheadWireGuardv6 = 80
)

// mtuAllowed is what an MTU may be.
var mtuAllowed = fmt.Sprintf("a number of bytes between 0 and %d", maxMTU)

var errNoMTU = errors.New("it is out of range")

// setting is how a type of Network is told the MTU.
type setting struct {
	// apiVersion is that of the providerConfig.
	apiVersion string
	// apply changes the configuration for node networks that carry so many bytes. Errors begin with the field.
	apply func(c *config, families []extensionsv1alpha1.IPFamily, carried int32) error
}

// settings are those of the types that are known.
var settings = map[string]setting{
	typeCalico: {apiVersion: "calico.networking.extensions.gardener.cloud/v1alpha1", apply: applyCalico},
	typeCilium: {apiVersion: "cilium.networking.extensions.gardener.cloud/v1alpha1", apply: applyCilium},
}

// applyCalico sets the MTU of pods, which is that of the node networks without the encapsulation. Calico uses it for tunnels too.
func applyCalico(c *config, families []extensionsv1alpha1.IPFamily, carried int32) error {
	c.enableOverlay()
	overhead, err := calicoOverhead(c, slices.Contains(families, extensionsv1alpha1.IPFamilyIPv6))
	if err != nil {
		return err
	}
	current, err := c.text(fieldVethMTU)
	if err != nil {
		return err
	}
	var asked int64
	if current != "" {
		if asked, err = strconv.ParseInt(current, 10, 32); err != nil || asked < 0 || asked > maxMTU {
			return describe(errNoMTU, "the text of "+mtuAllowed, fieldVethMTU)
		}
	}
	if wanted := strconv.Itoa(int(smaller(int32(asked), carried-overhead))); wanted != current {
		c.set(fieldVethMTU, wanted)
	}
	return nil
}

// calicoOverhead returns what the encapsulation adds to a packet, in bytes.
func calicoOverhead(c *config, ipv6 bool) (int32, error) {
	wireGuard, err := c.flag("wireguardEncryption")
	if err != nil {
		return 0, err
	}
	vxlan, err := c.flag("vxlan", "enabled")
	if err != nil {
		return 0, err
	}
	pool, err := c.text("ipv4", "pool")
	if err != nil {
		return 0, err
	}
	backend, err := c.text("backend")
	if err != nil {
		return 0, err
	}
	switch {
	case wireGuard && ipv6:
		return overheadWireGuardv6, nil
	case wireGuard:
		return overheadWireGuard, nil
	case ipv6:
		return overheadVXLANv6, nil
	case vxlan || pool == "vxlan" || backend == "vxlan":
		return overheadVXLAN, nil
	default:
		return overheadIPIP, nil
	}
}

// applyCilium sets the MTU of the node networks. Cilium takes the encapsulation off itself.
func applyCilium(c *config, _ []extensionsv1alpha1.IPFamily, carried int32) error {
	c.enableOverlay()
	asked, err := c.number(fieldMTU)
	if err != nil {
		return err
	}
	if wanted := smaller(asked, carried); wanted != asked {
		c.set(fieldMTU, int64(wanted))
	}
	return nil
}

// describe says what a field may be.
func describe(err error, allowed string, path ...string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s must be %s", strings.Join(path, "."), allowed)
}
