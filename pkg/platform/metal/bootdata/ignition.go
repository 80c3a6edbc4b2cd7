// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package bootdata passes machines what they need at their first boot: in Secrets of the inventory, which have the name of their machine,
// and in files for an Ignition config. No Secret is read: the passwords of the hosts' BMCs are in the same namespace, so
// that the credentials need no such permission.
package bootdata

import "github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"

const (
	hostnamePath = "/etc/hostname"
	fileMode     = 0o644
)

// HostnameFile returns the file with the name of the host.
func HostnameFile(name string) ignition.File {
	return ignition.NewFile(hostnamePath, fileMode, []byte(name+"\n"))
}
