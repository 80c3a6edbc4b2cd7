// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"

// Addresses in the network namespace of the garden. They are all local there, so that what nobody listens on is refused at once, but
// for those of pods with processes.
const (
	nodeNetwork    = "10.240.0.0/16"
	serviceNetwork = "10.241.0.0/16"
	podNetwork     = "10.242.0.0/15"
	playedNetwork  = "10.243.0.0/16"

	seedAddress    = "10.240.0.1"
	virtualAddress = "10.240.0.2"
	balancers      = "10.240.100"
)

var podNetworks = kubelet.Networks{Real: "10.242", Played: "10.243", Node: seedAddress}
