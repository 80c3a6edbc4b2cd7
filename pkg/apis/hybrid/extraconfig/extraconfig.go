// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package extraconfig defines the keys that must not be set in the extra configuration of virtual machines.
package extraconfig

import (
	"regexp"
	"strings"
)

// reserved begins the keys that the driver sets itself.
var reserved = []string{"guestinfo.", "gardener."}

var (
	keyRegexp = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]*$`)
	// unsafe are keys that open ports on the host, name files outside the folder of the virtual machine, or change what it is and which
	// network it is in. vCenters refuse some of them.
	unsafe = regexp.MustCompile(`(?i)^(remotedisplay\.|debugstub\.|vmx\.log|log\.|nvram$|workingdir$|extendedconfigfile$|` +
		`sched\.swap\.(dir|derivedname)$|uuid\.|vc\.uuid$|ethernet[0-9]+\.(filter|address|generated|network|dvs|external|opaque)|` +
		`(scsi|sata|nvme|ide|floppy|serial|parallel)[0-9]+(:[0-9]+)?\.(filename|filetype|devicetype|present)$)`)
)

// Problem says why the extra configuration must not have the key. It is empty if it may.
func Problem(key string) string {
	lower := strings.ToLower(key)
	for _, prefix := range reserved {
		if strings.HasPrefix(lower, prefix) {
			return "keys that begin with \"" + prefix + "\" are reserved"
		}
	}
	switch {
	case !keyRegexp.MatchString(key):
		return "keys must begin with a letter and have only letters, digits and any of _ . : -"
	case unsafe.MatchString(key):
		return "the key is never allowed: it concerns the host, files of others or the identity of the virtual machine"
	default:
		return ""
	}
}
