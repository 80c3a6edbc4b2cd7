// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package pack packs charts as helm does. The same files give the same bytes.
package pack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

// Chart is a chart in a folder.
type Chart struct {
	// Name is the name in Chart.yaml.
	Name string `json:"name"`
	// Version is the version in Chart.yaml.
	Version string `json:"version"`

	dir string
}

// Read reads the Chart.yaml in a folder.
func Read(dir string) (Chart, error) {
	data, err := os.ReadFile(filepath.Join(dir, "Chart.yaml")) // #nosec G304 -- a folder of the sources
	if err != nil {
		return Chart{}, err
	}
	c := Chart{dir: dir}
	if err := yaml.Unmarshal(data, &c); err != nil {
		return Chart{}, fmt.Errorf("%s: %w", dir, err)
	}
	if c.Name == "" || c.Version == "" {
		return Chart{}, fmt.Errorf("%s: Chart.yaml needs a name and a version", dir)
	}
	return c, nil
}

// Archive packs the chart. The bytes depend on the names and the content of its files alone.
func (c Chart) Archive() ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	packed := tar.NewWriter(compressed)
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error { // in lexical order
		if err != nil || entry.IsDir() {
			return err
		}
		return add(packed, path.Join(c.Name, name), func() (io.ReadCloser, error) { return root.Open(filepath.FromSlash(name)) })
	})
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", c.Name, err)
	}
	if err := packed.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func add(packed *tar.Writer, name string, open func() (io.ReadCloser, error)) error {
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: time.Unix(0, 0),
		Format: tar.FormatUSTAR}
	if err := packed.WriteHeader(header); err != nil {
		return err
	}
	_, err = packed.Write(content)
	return err
}
