// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// podImage is the image of pods.
const podImage = "example.com/sleep:1"

// sleepFiles are what the program of the image consists of, which are those of this machine.
var sleepFiles = []string{"/bin/sleep", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}

// writeImage writes an archive with an image whose only program sleeps. It has several names.
func writeImage(path string, names ...string) error {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	for _, file := range sleepFiles {
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return err
		}
		program, err := os.ReadFile(real) // #nosec G304 -- constant names
		if err != nil {
			return err
		}
		if err := writer.WriteHeader(&tar.Header{Name: file[1:], Mode: 0o755, Size: int64(len(program))}); err != nil {
			return err
		}
		if _, err := writer.Write(program); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil })
	if err != nil {
		return err
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH,
		Config: v1.Config{Entrypoint: []string{"/bin/sleep", "infinity"}}})
	if err != nil {
		return err
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return err
	}
	images := map[name.Tag]v1.Image{}
	for _, one := range names {
		tag, err := name.NewTag(one)
		if err != nil {
			return err
		}
		images[tag] = image
	}
	return tarball.MultiWriteToFile(path, images)
}
