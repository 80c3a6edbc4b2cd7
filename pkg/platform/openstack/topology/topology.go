// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package topology has the node label that the Cinder CSI driver uses to locate nodes.
package topology

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// ZoneKey is the label with Nova's availability zone. The node service of the driver sets it, too.
const ZoneKey = "topology.cinder.csi.openstack.org/zone"

// Labels returns the labels of the nodes of a zone.
func Labels(zone *v1alpha1.OpenStackZone) map[string]string {
	return map[string]string{ZoneKey: zone.AvailabilityZone}
}
