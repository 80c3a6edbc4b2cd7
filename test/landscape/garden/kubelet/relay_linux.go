// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/relay"
)

// relays lets processes in a network reach addresses of this machine's loopback interface under the same addresses.
func relays(network *netns.Namespace, addresses []string) ([]*relay.Relay, error) {
	var result []*relay.Relay
	for _, address := range addresses {
		r, err := relayIn(network, address, relay.To(address))
		if err != nil {
			return result, err
		}
		result = append(result, r)
	}
	return result, nil
}

// relayIn passes on connections to an address in a network.
func relayIn(network *netns.Namespace, address string, dial relay.Dial) (*relay.Relay, error) {
	listener, err := network.Listen(address)
	if err != nil {
		return nil, err
	}
	return relay.Start(listener, dial), nil
}
