// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	ignitionVersion    = "3.3.0"
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

// wrapUserData returns user data in the format that the machine's image expects. It is wrapped here because
// machine-controller-manager fills in the bootstrap token as plain text.
func wrapUserData(format v1alpha1.UserDataFormat, userData []byte) ([]byte, error) {
	if len(userData) == 0 {
		return nil, platform.NewError(platform.ClassConfiguration, "the machine class has no user data")
	}
	switch format {
	case "", v1alpha1.UserDataFormatCloudInit, v1alpha1.UserDataFormatScript:
		return userData, nil
	case v1alpha1.UserDataFormatIgnition:
		return ignition(userData)
	default:
		return nil, platform.NewError(platform.ClassConfiguration, "user data format %q is not known", format)
	}
}

// ignition returns an Ignition config that runs a script at the first boot. A config is returned as it is.
func ignition(userData []byte) ([]byte, error) {
	if json.Valid(userData) {
		return userData, nil
	}
	if !bytes.HasPrefix(userData, []byte("#!")) {
		return nil, platform.NewError(platform.ClassConfiguration, "user data for Ignition must be a script or an Ignition config")
	}
	return json.Marshal(ignitionConfig{
		Ignition: ignitionMeta{Version: ignitionVersion},
		Storage: ignitionStorage{Files: []ignitionFile{{
			Path:      ignitionScriptPath,
			Mode:      0o700,
			Overwrite: true,
			Contents:  ignitionContents{Source: "data:;base64," + base64.StdEncoding.EncodeToString(userData)},
		}}},
		Systemd: ignitionSystemd{Units: []ignitionSystemdUnit{{
			Name:     "gardener-user-data.service",
			Enabled:  true,
			Contents: ignitionUnit,
		}}},
	})
}

type ignitionConfig struct {
	Ignition ignitionMeta    `json:"ignition"`
	Storage  ignitionStorage `json:"storage"`
	Systemd  ignitionSystemd `json:"systemd"`
}

type ignitionMeta struct {
	Version string `json:"version"`
}

type ignitionStorage struct {
	Files []ignitionFile `json:"files"`
}

type ignitionFile struct {
	Path      string           `json:"path"`
	Mode      int              `json:"mode"`
	Overwrite bool             `json:"overwrite"`
	Contents  ignitionContents `json:"contents"`
}

type ignitionContents struct {
	Source string `json:"source"`
}

type ignitionSystemd struct {
	Units []ignitionSystemdUnit `json:"units"`
}

type ignitionSystemdUnit struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Contents string `json:"contents"`
}
