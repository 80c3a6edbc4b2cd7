// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// zoneHashLength is the number of hexadecimal characters of the hash of a zone's name.
const zoneHashLength = 3

// ZoneHash returns the first characters of the hash of the zone's name, which stand for the zone in names. Two zones may
// have the same; validation refuses that for the zones of one pool.
func ZoneHash(zone string) string {
	sum := sha256.Sum256([]byte(zone))
	return hex.EncodeToString(sum[:])[:zoneHashLength]
}

// MachineDeploymentName returns the name of the MachineDeployment and prefix of the MachineClass of a pool in a zone. It
// depends on no other zone of the pool, so that zones come and go without an effect on the others.
func MachineDeploymentName(technicalID, pool, zone string) string {
	return fmt.Sprintf("%s-%s-z%s", technicalID, pool, ZoneHash(zone))
}
