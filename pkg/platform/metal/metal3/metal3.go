// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package metal3 is the inventory of sites whose hosts are managed by Metal3's baremetal-operator. A machine uses a BareMetalHost, which
// names it in its consumerRef.
package metal3

import (
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	resourceHosts = "baremetalhosts"
	kindHost      = "BareMetalHost"
)

// providerIDPrefix begins the provider IDs of Metal3's own driver. They go on with a namespace and the names of a host and a machine.
const providerIDPrefix = "metal3://"

// kind is what BareMetalHosts are like.
var kind = hosts.Kind[metal3v1alpha1.BareMetalHost, *metal3v1alpha1.BareMetalHost]{
	Resource:         metal3v1alpha1.GroupVersion.WithResource(resourceHosts),
	ProviderIDPrefix: providerIDPrefix,
	List:             list,
	Strip:            strip,
	Obstacles:        obstacles,
	ObstacleTo: func(host *metal3v1alpha1.BareMetalHost, selection *inventory.Selection) inventory.Obstacle {
		return obstacleTo(host, selection.Cleaning)
	},
	IsOf: isOf,
	HostOf: func(host *metal3v1alpha1.BareMetalHost, machine string, selection *inventory.Selection) inventory.Host {
		return hostOf(host, machine, selection.Cleaning)
	},
	Surveyed:      surveyed,
	StripSurveyed: stripButHardware,
	SecretOf:      secretOf,
	ClaimPatch:    claimPatch,
	Held:          held,
	CleanPatch:    cleanPatch,
	IsReleasable:  isReleasable,
	Unreleased:    unreleased,
	FreePatch:     freePatch,
}

// New returns the inventory behind the session.
func New(session *kubernetes.Session, options inventory.Options) inventory.Inventory {
	return hosts.New(session, options, &kind)
}
