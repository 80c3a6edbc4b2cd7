// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ignition tells machines with Ignition what differs from host to host.
package ignition

import (
	"encoding/json"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	hostnamePath = "/etc/hostname"
	// networkPath is in front of the files that images have, so that systemd-networkd takes it for the interfaces that it matches.
	networkPath = "/etc/systemd/network/00-node.network"
	fileMode    = 0o644
)

// Hostname returns the file with the name of the host.
func Hostname(name string) ignition.File {
	return ignition.NewFile(hostnamePath, fileMode, []byte(name+"\n"))
}

// Network returns the file with the network configuration, which is one of systemd-networkd.
func Network(configuration []byte) ignition.File {
	return ignition.NewFile(networkPath, fileMode, configuration)
}

// AddFiles returns an Ignition config that has the files beside all that the config has, which may be of any version of Ignition's
// third specification. A file that the config has itself wins. The error is of platform.ClassConfiguration.
func AddFiles(config []byte, files ...ignition.File) ([]byte, error) {
	switch version := ignition.VersionOf(config); {
	case version == "":
		return nil, platform.NewError(platform.ClassConfiguration, "the user data is no Ignition config, so that no files can be added to it")
	case !strings.HasPrefix(version, "3."):
		return nil, platform.NewError(platform.ClassConfiguration,
			"the user data is an Ignition config of version %s, but files can be added to version 3 only", version)
	}
	return json.Marshal(ignition.Config{
		Ignition: ignition.Meta{Version: ignition.Version, Config: ignition.References{Merge: []ignition.Resource{ignition.Data(config)}}},
		Storage:  ignition.Storage{Files: files},
	})
}
