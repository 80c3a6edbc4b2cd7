// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"context"
	"encoding/binary"
	"net/netip"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// hosts finds hosts in an inventory. All answers come from its API and not from a cache, so that what is not found is not there.
type hosts interface {
	// check returns an error unless all that is read here answers.
	check(ctx context.Context) error
	// byProviderID returns the host of the machine with the provider ID, nil if the machine has none any more. The ID has the form of
	// the inventory.
	byProviderID(ctx context.Context, providerID string) (*host, error)
	// byNodeName returns hosts of the shoot on the site among which is that of the node, if there is one.
	byNodeName(ctx context.Context, name string) ([]host, error)
}

// host is a host that is a machine of the shoot.
type host struct {
	name, machine, providerID string
	// nodeName is the name that the machine was told.
	nodeName string
	labels   map[string]string
	// off is true if the inventory is sure that the host has no power.
	off bool
	// systemUUID is empty if the inventory does not know it.
	systemUUID string
	// vendor and model are empty if the inventory does not know them.
	vendor, model string
	// discovered are the addresses that the host had when its hardware was discovered, before it was the machine.
	discovered []netip.Addr
}

func newHosts(session *client.Session, kind v1alpha1.MetalInventory, o owner.Owner) (hosts, error) {
	switch kind {
	case v1alpha1.MetalInventoryMetal3:
		return &metal3{session: session, owner: o}, nil
	case v1alpha1.MetalInventoryIronCore:
		return &ironCore{session: session, owner: o}, nil
	default:
		return nil, unsupported(kind)
	}
}

func unsupported(kind v1alpha1.MetalInventory) error {
	return platform.NewError(platform.ClassConfiguration, "metal.connection.inventory %q is not supported", kind)
}

// maxLabelValue is the most characters of a label's value.
const maxLabelValue = 63

var notOfLabels = regexp.MustCompile(`[^A-Za-z0-9]+`)

// unknownType is the type of hosts whose make the inventory does not know.
const unknownType = "bare-metal"

// instanceType is the make of the host, because an inventory has no names for sizes.
func (h *host) instanceType() string {
	text := strings.Trim(notOfLabels.ReplaceAllString(h.vendor+" "+h.model, "-"), "-")
	if len(text) > maxLabelValue {
		text = strings.Trim(text[:maxLabelValue], "-")
	}
	return cmp.Or(text, unknownType)
}

// mayHave reports whether the UUID that an operating system reports can be the host's. Old firmware reports the first three fields
// with their bytes in reverse order. Where one of the two is not known there is nothing to compare.
func (h *host) mayHave(reported string) bool {
	known, err := uuid.Parse(h.systemUUID)
	if err != nil {
		return true
	}
	id, err := uuid.Parse(reported)
	return err != nil || id == known || reversed(id) == known
}

func reversed(id uuid.UUID) uuid.UUID {
	binary.LittleEndian.PutUint32(id[0:4], binary.BigEndian.Uint32(id[0:4]))
	binary.LittleEndian.PutUint16(id[4:6], binary.BigEndian.Uint16(id[4:6]))
	binary.LittleEndian.PutUint16(id[6:8], binary.BigEndian.Uint16(id[6:8]))
	return id
}
