// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

const (
	dataLink = "..data"
	newLink  = "..data_new"
)

// folder is a folder with the files of a volume. As kubelets do, all files change at the same time: they are links through one link.
type folder struct {
	path    string
	version string
	files   map[string][]byte
}

// write replaces the files, whose names are paths below the folder, if they are others than before.
func (f *folder) write(files map[string][]byte) error {
	if f.version != "" && maps.EqualFunc(f.files, files, bytes.Equal) {
		return nil
	}
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		return err
	}
	version, err := os.MkdirTemp(f.path, "..version")
	if err != nil {
		return err
	}
	links := map[string]bool{}
	for name, content := range files {
		path := filepath.Join(version, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
		first, _, _ := strings.Cut(name, "/")
		links[first] = true
	}

	if err := os.Symlink(filepath.Base(version), filepath.Join(f.path, newLink)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(f.path, newLink), filepath.Join(f.path, dataLink)); err != nil {
		return err
	}
	if err := f.link(links); err != nil {
		return err
	}
	if f.version != "" {
		if err := os.RemoveAll(f.version); err != nil {
			return err
		}
	}
	f.version, f.files = version, files
	return nil
}

// link makes the visible names those of links.
func (f *folder) link(links map[string]bool) error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case strings.HasPrefix(name, ".."):
		case links[name]:
			delete(links, name)
		default:
			if err := os.Remove(filepath.Join(f.path, name)); err != nil {
				return err
			}
		}
	}
	for name := range links {
		if err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(f.path, name)); err != nil {
			return err
		}
	}
	return nil
}
