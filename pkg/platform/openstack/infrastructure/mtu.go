// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// ensureMTU changes the MTU of a network of ours. If nobody said one, it stays as Neutron chose it.
func (f *flow) ensureMTU(ctx context.Context, n *network) error {
	wanted := int(f.site.Network.MTU)
	if wanted == 0 || n.MTU == wanted {
		return nil
	}
	options := mtu.UpdateOptsExt{UpdateOptsBuilder: networks.UpdateOpts{}, MTU: wanted}
	if err := networks.Update(ctx, f.network, n.ID, options).ExtractInto(n); err != nil {
		return fmt.Errorf("mtu: %w", client.Classify(err))
	}
	return nil
}

// checkMTU checks that a given network carries what is asked for, where Neutron tells what it carries.
func (f *flow) checkMTU(n *network) error {
	wanted := int(f.site.Network.MTU)
	if n.MTU == 0 || n.MTU >= wanted {
		return nil
	}
	return platform.NewError(platform.ClassConfiguration, "mtu: network %q of openstack.network.id carries %d bytes, less than %d", n.ID, n.MTU, wanted)
}
