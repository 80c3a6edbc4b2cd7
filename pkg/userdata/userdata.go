// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package userdata brings user data into the format of the image that it is for.
package userdata

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	ignitionScriptPath = "/opt/bin/gardener-user-data"
	ignitionUnit       = `[Unit]
Description=Run the user data of the machine once
Wants=network-online.target
After=network-online.target
ConditionFirstBoot=yes

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=` + ignitionScriptPath + `

[Install]
WantedBy=multi-user.target
`
)

// FormatOf returns the format of the image.
func FormatOf(image *v1alpha1.SiteMachineImage) v1alpha1.UserDataFormat {
	if image == nil || image.UserData == nil {
		return ""
	}
	return image.UserData.Format
}

// ForMachine returns the user data of a machine with the settings of its site, in the format of its image.
func ForMachine(spec *v1alpha1.MachineProviderSpec, userData []byte) ([]byte, error) {
	if spec.NodeSettings != nil {
		var err error
		if userData, err = withSettings(spec.NodeSettings, userData); err != nil {
			return nil, err
		}
	}
	return Wrap(spec.UserDataFormat, userData)
}

// Wrap returns user data in the format of the image. Only who creates the machine can wrap it, because machine-controller-manager replaces
// the placeholder of the bootstrap token in plain text.
func Wrap(format v1alpha1.UserDataFormat, userData []byte) ([]byte, error) {
	if len(userData) == 0 {
		return nil, platform.NewError(platform.ClassConfiguration, "there must be user data")
	}
	switch format {
	case "", v1alpha1.UserDataFormatCloudInit, v1alpha1.UserDataFormatScript:
		return userData, nil
	case v1alpha1.UserDataFormatIgnition:
		return ignitionConfig(userData)
	default:
		return nil, platform.NewError(platform.ClassConfiguration, "user data format %q is not supported", format)
	}
}

// ignitionConfig returns an Ignition config that runs the script at the first boot. Ignition configs are returned unchanged.
func ignitionConfig(userData []byte) ([]byte, error) {
	if ignition.VersionOf(userData) != "" {
		return userData, nil
	}
	if !bytes.HasPrefix(userData, []byte("#!")) {
		return nil, platform.NewError(platform.ClassConfiguration, "user data for Ignition must be a script or an Ignition config")
	}
	return json.Marshal(ignition.Config{
		Ignition: ignition.Meta{Version: ignition.Version},
		Storage:  ignition.Storage{Files: []ignition.File{ignition.NewFile(ignitionScriptPath, 0o700, userData)}},
		Systemd:  ignition.Systemd{Units: []ignition.Unit{{Name: "gardener-user-data.service", Enabled: true, Contents: ignitionUnit}}},
	})
}

// Extend returns an Ignition config that merges the config, which may be of any version of Ignition's third specification, with files and
// units. Those of the config win. The error is of platform.ClassConfiguration.
func Extend(config []byte, files []ignition.File, units ...ignition.Unit) ([]byte, error) {
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
		Systemd:  ignition.Systemd{Units: units},
	})
}

// networkPath sorts before the files of images, so that systemd-networkd prefers it for the interfaces that it matches.
const networkPath = "/etc/systemd/network/00-node.network"

// NetworkFile returns the file with the network configuration, which must be one of systemd-networkd.
func NetworkFile(configuration []byte) ignition.File {
	return ignition.NewFile(networkPath, 0o644, configuration)
}
