// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package images makes images of containers from executables of this machine and programs of the Debian that machines boot.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	securejoin "github.com/cyphar/filepath-securejoin"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// libraries is where Debian has shared libraries.
const libraries = "/usr/lib/x86_64-linux-gnu"

// links are those of a file system whose programs are all below /usr.
var links = map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}

// Contents are the contents of an image.
type Contents struct {
	// Programs are the paths of programs, other files, and folders of Debian. Programs have their shared libraries with them.
	Programs []string
	// Files are the paths of files of this machine, by their paths in the image.
	Files map[string]string
	// Entrypoint is what a container runs.
	Entrypoint []string
}

// Debian is the folder with the system that machines boot.
func Debian() string { return filepath.Join(landscape.Root(), "hack", "bin", "machine-root") }

// Image returns an image with one layer, which is not compressed.
func (c Contents) Image() (v1.Image, error) {
	root, err := filepath.EvalSymlinks(Debian())
	if err != nil {
		return nil, fmt.Errorf("%w: hack/landscape/machines/build.sh makes it", err)
	}
	files := maps.Clone(c.Files)
	if files == nil {
		files = map[string]string{}
	}
	for _, program := range c.Programs {
		if err := addTree(files, root, program); err != nil {
			return nil, err
		}
	}
	for _, file := range slices.Collect(maps.Values(files)) {
		if err := addLibraries(files, root, file); err != nil {
			return nil, err
		}
	}
	content, err := archive(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressionLevel(gzip.NoCompression))
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH,
		Config: v1.Config{Entrypoint: c.Entrypoint, Env: []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layer)
}

// addTree adds a file or a folder of a system. Links are followed.
func addTree(files map[string]string, root, name string) error {
	real, err := securejoin.SecureJoin(root, name)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		files[name] = real
		return nil
	}
	entries, err := os.ReadDir(real)
	for _, entry := range entries {
		if err := addTree(files, root, path.Join(name, entry.Name())); err != nil {
			return err
		}
	}
	return err
}

// addLibraries adds the shared libraries of a program, and what loads them. Other files have none.
func addLibraries(files map[string]string, root, program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return nil // It is not a program.
	}
	defer func() { _ = file.Close() }()
	needed, err := file.ImportedLibraries()
	if err != nil {
		return err
	}
	var paths []string
	for _, library := range needed {
		paths = append(paths, path.Join(libraries, library))
	}
	for _, header := range file.Progs {
		if header.Type == elf.PT_INTERP {
			loader, err := io.ReadAll(header.Open())
			if err != nil {
				return err
			}
			paths = append(paths, path.Join("/usr", string(bytes.TrimRight(loader, "\x00"))))
		}
	}
	for _, name := range paths {
		if files[name] != "" {
			continue
		}
		if err := addTree(files, root, name); err != nil {
			return fmt.Errorf("a library of %s: %w", program, err)
		}
		if err := addLibraries(files, root, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// archive is an archive with files and the folders that contain them.
func archive(files map[string]string) ([]byte, error) {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	directories := map[string]bool{".": true}
	addDirectories := func(name string) error {
		var missing []string
		for dir := path.Dir(name); !directories[dir]; dir = path.Dir(dir) {
			directories[dir] = true
			missing = append(missing, dir)
		}
		for _, dir := range slices.Backward(missing) {
			if err := writer.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o755, Typeflag: tar.TypeDir}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := addDirectories(name[1:]); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(files[name])
		if err != nil {
			return nil, err
		}
		if err := writer.WriteHeader(&tar.Header{Name: name[1:], Mode: int64(mode(files[name])), Size: int64(len(data))}); err != nil {
			return nil, err
		}
		if _, err := writer.Write(data); err != nil {
			return nil, err
		}
	}
	if err := writer.WriteHeader(&tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if err := writer.WriteHeader(&tar.Header{Name: name, Linkname: links[name], Mode: 0o777, Typeflag: tar.TypeSymlink}); err != nil {
			return nil, err
		}
	}
	return content.Bytes(), writer.Close()
}

func mode(file string) fs.FileMode {
	if info, err := os.Stat(file); err == nil && info.Mode()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}
