// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"encoding/binary"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// maxLabelValue is the maximum length of a label's value.
const maxLabelValue = 63

var notOfLabels = regexp.MustCompile(`[^A-Za-z0-9]+`)

// unknownType is the type of hosts whose vendor and model are not known.
const unknownType = "bare-metal"

// nodeName returns the name that the machine on the host was given.
func nodeName(host *inventory.Host) string {
	return cmp.Or(host.NodeName, host.Machine)
}

// instanceType returns the vendor and model of the host, because an inventory has no names for sizes.
func instanceType(host *inventory.Host) string {
	text := strings.Trim(notOfLabels.ReplaceAllString(host.Vendor+" "+host.Model, "-"), "-")
	if len(text) > maxLabelValue {
		text = strings.Trim(text[:maxLabelValue], "-")
	}
	return cmp.Or(text, unknownType)
}

// mayHave reports whether the UUID that an operating system reports can be that of the host. Old firmware reports the first three fields
// with their bytes in reverse order. It returns true if either UUID is unknown.
func mayHave(host *inventory.Host, reported string) bool {
	known, err := uuid.Parse(host.SystemUUID)
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
