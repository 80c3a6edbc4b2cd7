// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"slices"
)

// fixedAddresses reads Nova's addresses by network.
func fixedAddresses(byNetwork map[string]any) []string {
	type address struct {
		Address string `json:"addr"`
		Type    string `json:"OS-EXT-IPS:type"`
	}
	content, err := json.Marshal(byNetwork)
	if err != nil {
		return nil
	}
	parsed := map[string][]address{}
	if err := json.Unmarshal(content, &parsed); err != nil {
		return nil
	}
	var result []string
	for _, addresses := range parsed {
		for _, a := range addresses {
			if a.Type == "fixed" {
				result = append(result, a.Address)
			}
		}
	}
	slices.Sort(result)
	return result
}
