// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package bootdata passes machines what they need at their first boot: in Secrets of the inventory, which have the name of their machine,
// and in files that are added to an Ignition config. No Secret is read: the passwords of the hosts' BMCs are in the same namespace, so
// that the credentials need no such permission.
package bootdata

import (
	"encoding/json"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	hostnamePath = "/etc/hostname"
	// networkPath sorts before the files of images, so that systemd-networkd prefers it for the interfaces that it matches.
	networkPath = "/etc/systemd/network/00-node.network"
	fileMode    = 0o644
)

// HostnameFile returns the file with the name of the host.
func HostnameFile(name string) ignition.File {
	return ignition.NewFile(hostnamePath, fileMode, []byte(name+"\n"))
}

// NetworkFile returns the file with the network configuration, which must be one of systemd-networkd.
func NetworkFile(configuration []byte) ignition.File {
	return ignition.NewFile(networkPath, fileMode, configuration)
}

// AddFiles returns an Ignition config that merges the config, which may be of any version of Ignition's third specification, with the
// files. A file of the config wins. The error is of platform.ClassConfiguration.
func AddFiles(config []byte, files ...ignition.File) ([]byte, error) {
	switch version := ignition.VersionOf(config); {
	case version == "":
		return nil, platform.NewError(platform.ClassConfiguration, "the user data must be an Ignition config, because files are added to it")
	case !strings.HasPrefix(version, "3."):
		return nil, platform.NewError(platform.ClassConfiguration,
			"the user data must be an Ignition config of version 3, because files are added to it, but has version %s", version)
	}
	return json.Marshal(ignition.Config{
		Ignition: ignition.Meta{Version: ignition.Version, Config: ignition.References{Merge: []ignition.Resource{ignition.Data(config)}}},
		Storage:  ignition.Storage{Files: files},
	})
}
