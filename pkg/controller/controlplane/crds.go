// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

// crdsValues are the values of the chart of custom resource definitions: snapshots, metallb and the platforms whose storage driver
// is deployed.
type crdsValues map[string]toggle

const snapshots = "snapshots"

func (p *plan) crdsValues() crdsValues {
	values := crdsValues{
		snapshots: {p.hasCSI()},
		metalLB:   {p.metalLB() != nil},
	}
	for _, s := range p.storages {
		values[string(s.platform)] = toggle{true}
	}
	return values
}
