// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package podnetwork

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// The types of networks that are known.
const (
	TypeCalico = "calico"
	TypeCilium = "cilium"
)

const (
	// FieldOverlay is an object with the switch of the overlay.
	FieldOverlay = "overlay"
	// FieldVethMTU is the MTU of pods with Calico: a text.
	FieldVethMTU = "vethMTU"
	// FieldMTU is the MTU of nodes with Cilium: a number.
	FieldMTU = "mtu"

	// maxMTU is the largest size of an IP packet, in bytes.
	maxMTU = 65535
)

// apiVersions are the API versions of the providerConfig, by type of network.
var apiVersions = map[string]string{
	TypeCalico: "calico.networking.extensions.gardener.cloud/v1alpha1",
	TypeCilium: "cilium.networking.extensions.gardener.cloud/v1alpha1",
}

// ReadConfig returns the fields of the providerConfig of a network, or those of a new one if it is not set. It returns nil for an unknown
// type of network.
func ReadConfig(networkType string, raw *runtime.RawExtension) (Fields, error) {
	apiVersion, ok := apiVersions[networkType]
	if !ok {
		return nil, nil
	}
	fields, err := Read(raw)
	if err == nil && fields == nil {
		fields = Fields{"apiVersion": apiVersion, "kind": "NetworkConfig"}
	}
	return fields, err
}

// EnableOverlay enables the overlay unless the field is set, and reports whether it did.
func (f Fields) EnableOverlay() bool {
	if f.Has(FieldOverlay) {
		return false
	}
	f[FieldOverlay] = map[string]any{"enabled": true}
	return true
}

// mtuAllowed is what an MTU may be.
var mtuAllowed = fmt.Sprintf("a number of bytes between 0 and %d", maxMTU)

// Encapsulation is how Calico carries packets of pods from node to node.
type Encapsulation string

const (
	// EncapsulationIPIP is IP in IP, IP protocol 4.
	EncapsulationIPIP Encapsulation = "IP in IP"
	// EncapsulationVXLAN is VXLAN, over UDP.
	EncapsulationVXLAN Encapsulation = "VXLAN"
	// EncapsulationWireGuard is WireGuard, over UDP.
	EncapsulationWireGuard Encapsulation = "WireGuard"
)

// Overhead returns what the encapsulation adds to each packet, in bytes. With IPv6 the outer packet may be one of IPv6.
func (e Encapsulation) Overhead(ipv6 bool) int32 {
	switch {
	case e == EncapsulationWireGuard && ipv6:
		return 80
	case e == EncapsulationWireGuard:
		return 60
	case ipv6:
		return 70
	case e == EncapsulationVXLAN:
		return 50
	default:
		return 20
	}
}

// CalicoEncapsulation returns the encapsulation of Calico with its overlay, which is IP in IP by default. With IPv6
// it is never IP in IP.
func (f Fields) CalicoEncapsulation(ipv6 bool) (Encapsulation, error) {
	wireGuard, err := f.Flag("wireguardEncryption")
	if err != nil {
		return "", err
	}
	vxlan, err := f.Flag("vxlan", "enabled")
	if err != nil {
		return "", err
	}
	pool, err := f.Text("ipv4", "pool")
	if err != nil {
		return "", err
	}
	backend, err := f.Text("backend")
	if err != nil {
		return "", err
	}
	switch {
	case wireGuard:
		return EncapsulationWireGuard, nil
	case ipv6 || vxlan || pool == "vxlan" || backend == "vxlan":
		return EncapsulationVXLAN, nil
	default:
		return EncapsulationIPIP, nil
	}
}

// CalicoMTU returns the configured MTU of pods with Calico, in bytes, or zero.
func (f Fields) CalicoMTU() (int32, error) {
	text, err := f.Text(FieldVethMTU)
	if err != nil || text == "" {
		return 0, err
	}
	asked, err := strconv.ParseInt(text, 10, 32)
	if err != nil || asked < 0 || asked > maxMTU {
		return 0, &FieldError{Path: []string{FieldVethMTU}, Allowed: "the text of " + mtuAllowed}
	}
	return int32(asked), nil
}

// CiliumMTU returns the configured MTU of nodes with Cilium, in bytes, or zero. Cilium takes the encapsulation off itself.
func (f Fields) CiliumMTU() (int32, error) {
	asked, err := read[int64](f, mtuAllowed, []string{FieldMTU})
	if err == nil && (asked < 0 || asked > maxMTU) {
		err = &FieldError{Path: []string{FieldMTU}, Allowed: mtuAllowed}
	}
	if err != nil {
		return 0, err
	}
	return int32(asked), nil
}
