// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ignition has the part of Ignition's config that machines need for their first boot.
package ignition

import (
	"encoding/base64"
	"encoding/json"
)

// Version is the version of the configs. It is one that all operating systems with Ignition read that Kubernetes still runs on.
const Version = "3.3.0"

// Config is an Ignition config.
type Config struct {
	// Ignition describes the config itself.
	Ignition Meta `json:"ignition"`
	// Storage has what is written to the disk.
	Storage Storage `json:"storage,omitzero"`
	// Systemd has the units.
	Systemd Systemd `json:"systemd,omitzero"`
}

// Meta describes a config.
type Meta struct {
	// Version is the version of the config.
	Version string `json:"version"`
	// Config names further configs.
	Config References `json:"config,omitzero"`
}

// References name further configs.
type References struct {
	// Merge are configs that are merged into this one. What they say wins.
	Merge []Resource `json:"merge,omitempty"`
}

// Storage is what is written to the disk.
type Storage struct {
	// Files are the files.
	Files []File `json:"files,omitempty"`
}

// File is a file that belongs to root.
type File struct {
	// Path is its absolute path.
	Path string `json:"path"`
	// Mode are its permissions.
	Mode int `json:"mode"`
	// Overwrite replaces a file that the image has.
	Overwrite bool `json:"overwrite"`
	// Contents is what is in it.
	Contents Resource `json:"contents"`
}

// Resource is something that Ignition reads.
type Resource struct {
	// Source is its URL.
	Source string `json:"source"`
}

// Systemd has units.
type Systemd struct {
	// Units are the units.
	Units []Unit `json:"units,omitempty"`
}

// Unit is a systemd unit.
type Unit struct {
	// Name is the name of the unit.
	Name string `json:"name"`
	// Enabled starts the unit at each boot.
	Enabled bool `json:"enabled"`
	// Contents is what is in its file.
	Contents string `json:"contents"`
}

// NewFile returns a file with the content. It replaces one that the image has.
func NewFile(path string, mode int, content []byte) File {
	return File{Path: path, Mode: mode, Overwrite: true, Contents: Data(content)}
}

// Data returns a resource that holds the content itself.
func Data(content []byte) Resource {
	return Resource{Source: "data:;base64," + base64.StdEncoding.EncodeToString(content)}
}

// VersionOf returns the version of an Ignition config, or an empty string if data is not an Ignition config.
func VersionOf(data []byte) string {
	var config struct {
		Ignition Meta `json:"ignition"`
	}
	if json.Unmarshal(data, &config) != nil {
		return ""
	}
	return config.Ignition.Version
}
