// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	dataLink    = "..data"
	newDataLink = "..data_new"
)

// volume is a folder with the files of a volume. As with kubelets, all files change at the same time: they are links through one link.
type volume struct {
	path    string
	version int
	files   map[string][]byte
	// tokens are those of service accounts by path.
	tokens map[string]token
}

// token is a token of a service account and when it is replaced.
type token struct {
	value   string
	renewal time.Time
}

// write replaces the files, whose names are paths below the folder, if they are others than before.
func (v *volume) write(files map[string][]byte) error {
	if v.version > 0 && maps.EqualFunc(v.files, files, bytes.Equal) {
		return nil
	}
	v.version++
	name := "..version" + strconv.Itoa(v.version)
	version := filepath.Join(v.path, name)
	links := map[string]bool{}
	if err := os.MkdirAll(version, 0o755); err != nil { // #nosec G301 -- containers have other users
		return err
	}
	for path, content := range files {
		if err := writeFile(filepath.Join(version, path), content); err != nil {
			return err
		}
		first, _, _ := strings.Cut(path, "/")
		links[first] = true
	}
	if err := os.Symlink(name, filepath.Join(v.path, newDataLink)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(v.path, newDataLink), filepath.Join(v.path, dataLink)); err != nil {
		return err
	}
	if err := v.link(links); err != nil {
		return err
	}
	v.files = files
	return os.RemoveAll(filepath.Join(v.path, "..version"+strconv.Itoa(v.version-1)))
}

// link makes the visible names those of links.
func (v *volume) link(links map[string]bool) error {
	entries, err := os.ReadDir(v.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case strings.HasPrefix(name, ".."):
		case links[name]:
			delete(links, name)
		default:
			if err := os.Remove(filepath.Join(v.path, name)); err != nil {
				return err
			}
		}
	}
	for name := range links {
		if err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(v.path, name)); err != nil {
			return err
		}
	}
	return nil
}
