// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	bgpPort = 179
	maxPort = 65535
)

var metalLBAdvertisements = []v1alpha1.MetalLBAdvertisement{v1alpha1.MetalLBAdvertisementL2, v1alpha1.MetalLBAdvertisementBGP}

func validateMetalLB(config *v1alpha1.MetalLB, site string, pools *addressPools, fldPath *field.Path) field.ErrorList {
	var (
		allErrs   field.ErrorList
		poolNames = names{}
		poolsPath = fldPath.Child("addressPools")
		needsBGP  = false
	)
	if len(config.AddressPools) == 0 {
		allErrs = append(allErrs, field.Required(poolsPath, "must have at least one pool"))
	}
	for i := range config.AddressPools {
		pool, idxPath := &config.AddressPools[i], poolsPath.Index(i)
		allErrs = append(allErrs, validateDNSLabel(pool.Name, idxPath.Child("name"))...)
		allErrs = append(allErrs, poolNames.add(pool.Name, idxPath.Child("name"))...)
		allErrs = append(allErrs, validateOneOf(pool.Advertisement, metalLBAdvertisements, idxPath.Child("advertisement"))...)
		allErrs = append(allErrs, pools.validate(site, pool, idxPath.Child("cidrs"))...)
		needsBGP = needsBGP || pool.Advertisement == v1alpha1.MetalLBAdvertisementBGP
	}
	switch bgpPath := fldPath.Child("bgp"); {
	case config.BGP != nil:
		allErrs = append(allErrs, validateMetalLBBGP(config.BGP, bgpPath)...)
	case needsBGP:
		allErrs = append(allErrs, field.Required(bgpPath, "must be set for pools with the advertisement BGP"))
	}
	return allErrs
}

func validateMetalLBBGP(config *v1alpha1.MetalLBBGP, fldPath *field.Path) field.ErrorList {
	allErrs := validateASN(config.LocalASN, fldPath.Child("localASN"))
	if len(config.Peers) == 0 {
		allErrs = append(allErrs, field.Required(fldPath.Child("peers"), "must have at least one router"))
	}
	seen := map[netip.AddrPort]bool{}
	for i, peer := range config.Peers {
		idxPath := fldPath.Child("peers").Index(i)
		allErrs = append(allErrs, validateASN(peer.ASN, idxPath.Child("asn"))...)
		if peer.Port < 0 || peer.Port > maxPort {
			allErrs = append(allErrs, field.Invalid(idxPath.Child("port"), peer.Port, fmt.Sprintf("must be between 1 and %d", maxPort)))
			continue
		}
		addr, err := netip.ParseAddr(peer.Address)
		if err != nil {
			allErrs = append(allErrs, field.Invalid(idxPath.Child("address"), peer.Address, "must be an IP address"))
			continue
		}
		if peer.EBGPMultiHop && peer.ASN == config.LocalASN {
			allErrs = append(allErrs,
				field.Forbidden(idxPath.Child("ebgpMultiHop"), "must not be true for a router whose asn is localASN"))
		}
		port := peer.Port
		if port == 0 {
			port = bgpPort
		}
		router := netip.AddrPortFrom(addr, uint16(port)) // #nosec G115 -- the limits were checked
		if seen[router] {
			allErrs = append(allErrs, field.Duplicate(idxPath.Child("address"), peer.Address))
		}
		seen[router] = true
	}
	return allErrs
}

func validateASN(asn uint32, fldPath *field.Path) field.ErrorList {
	if asn == 0 {
		return field.ErrorList{field.Required(fldPath, "must be the number of an autonomous system")}
	}
	return nil
}
