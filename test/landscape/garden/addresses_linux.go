// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"

// Addresses in the network namespace of the garden. They are all local there, so that what nobody listens on is refused at once, but
// for those of pods with processes.
const (
	nodeNetwork    = "10.240.0.0/16"
	virtualAddress = "10.240.0.2"
)

// place is where a seed is in the network namespace of the garden.
type place struct {
	name string
	// address is that of kube-apiserver and of the node.
	address string
	// services and pods are ranges of addresses, kubernetes is the first one of services, played that of pods without processes.
	services, kubernetes, pods, played string
	// balancers are the first three bytes of the addresses of load balancers.
	balancers string
	networks  kubelet.Networks
	// controllers, health and metrics are ports of kube-controller-manager and of gardenlet.
	controllers, health, metrics int
	// visible says that shoots are scheduled to the seed; to another one they only move.
	visible bool
	// states is the number of workers that save ShootStates regularly. Without any, gardenlet saves one only when a shoot moves.
	states int
}

var (
	firstPlace = place{
		name: SeedName, address: "10.240.0.1", services: "10.241.0.0/16", kubernetes: "10.241.0.1", pods: "10.242.0.0/15",
		played: "10.243.0.0/16", balancers: "10.240.100",
		networks:    kubelet.Networks{Bridge: "pods", Real: "10.242", Played: "10.243", Node: "10.240.0.1"},
		controllers: 10257, health: 2728, metrics: 2729, visible: true,
	}
	secondPlace = place{
		name: SecondName, address: "10.240.0.3", services: "10.245.0.0/16", kubernetes: "10.245.0.1", pods: "10.246.0.0/15",
		played: "10.247.0.0/16", balancers: "10.240.101",
		networks:    kubelet.Networks{Bridge: "second", Real: "10.246", Played: "10.247", Node: "10.240.0.3"},
		controllers: 10256, health: 2738, metrics: 2739, states: 5,
	}
)
