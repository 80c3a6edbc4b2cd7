// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"regexp"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	// Metal3Prefix begins the provider IDs of Metal3's own driver. They go on with a namespace and the names of a host and a machine.
	Metal3Prefix = "metal3://"
	// ironCorePrefix begins those of IronCore's own driver. They go on with a namespace and the name of a claim.
	ironCorePrefix = "ironcore-metal://"

	// labelFormat matches a part of a name.
	labelFormat = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	// nameFormat matches the name of a host, a claim or a machine.
	nameFormat = labelFormat + `(\.` + labelFormat + `)*`
)

// Metal3ID is the provider ID of a machine on a BareMetalHost.
func Metal3ID(namespace, host, machine string) string {
	return Metal3Prefix + namespace + "/" + host + "/" + machine
}

// IronCoreID is the provider ID of the machine with a ServerClaim.
func IronCoreID(namespace, claim string) string {
	return ironCorePrefix + namespace + "/" + claim
}

// ProviderIDs matches the provider IDs of machines in the inventory and the namespace of the connection.
func ProviderIDs(connection v1alpha1.MetalConnection) *regexp.Regexp {
	prefix, names := Metal3Prefix, nameFormat+"/"+nameFormat
	if connection.Inventory == v1alpha1.MetalInventoryIronCore {
		prefix, names = ironCorePrefix, nameFormat
	}
	return regexp.MustCompile("^" + regexp.QuoteMeta(prefix+connection.Namespace) + "/" + names + "$")
}
