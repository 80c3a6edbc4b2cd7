// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package networkdata_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/networkdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// FuzzCheck gives texts of shoot owners to the checks of network data, whose errors must stay short.
func FuzzCheck(f *testing.F) {
	f.Add(document(bonded, static))
	f.Add(document(phy, `{"id": "n", "link": "a", "type": "ipv6", "ip_address": "$ADDRESS", "netmask": 64, "routes": [{"network": "::"}]}`))
	f.Add("links: &a\n- {id: a, mtu: null, bond_links: a}\nnetworks: *a\n")
	f.Add("[Match]\nMACAddress=${MAC}\n[Network]\nAddress=$ADDRESS/$PREFIX\nDNS=[::1]:53%eth0#x\\\n[Link]\nMTUBytes=1\n")
	f.Add("\\\n=\\\n[SR-IOV]\nx=\\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, inventory := range []v1alpha1.MetalInventory{v1alpha1.MetalInventoryMetal3, v1alpha1.MetalInventoryIronCore} {
			if err := networkdata.Check(inventory, text); err != nil && len(err.Error()) > 16<<10 {
				t.Fatalf("the error has %d bytes", len(err.Error()))
			}
			if err := networkdata.CheckTemplate(inventory, text, networkdata.Values{}); err == nil {
				if _, err := networkdata.Parse(text); err != nil {
					t.Fatalf("a template that cannot be parsed is accepted: %v", err)
				}
			}
		}
	})
}
