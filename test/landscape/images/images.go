// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package images makes images of containers from executables of this machine and programs of the Debian that machines boot.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
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
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
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
	// Arguments are those of the entrypoint, for containers without their own.
	Arguments []string
}

// Base are the programs of most images, whose nodes have them once.
var Base = []string{"/usr/bin/sh", "/usr/bin/awk", "/usr/bin/cat", "/usr/bin/date", "/usr/bin/dd", "/usr/bin/df", "/usr/bin/mv",
	"/usr/bin/sed", "/usr/bin/sha256sum", "/usr/bin/sleep", "/usr/bin/socat", "/usr/bin/sync", "/usr/bin/tail", "/usr/sbin/iptables",
	"/usr/sbin/iptables-save", "/usr/sbin/iptables-restore", "/usr/sbin/ip6tables", "/usr/sbin/ip6tables-save",
	"/usr/sbin/ip6tables-restore", "/usr/sbin/conntrack", "/usr/sbin/ip", "/usr/lib/x86_64-linux-gnu/xtables"}

// Disks are the programs and files with which node services of CSI drivers mount volumes.
var Disks = []string{"/usr/bin/mount", "/usr/bin/umount", "/usr/bin/findmnt", "/usr/bin/udevadm", "/usr/bin/lsblk", "/usr/sbin/blkid",
	"/usr/sbin/blockdev", "/usr/sbin/mkfs.ext4", "/usr/sbin/fsck", "/usr/sbin/fsck.ext4", "/usr/sbin/e2fsck", "/usr/sbin/dumpe2fs",
	"/usr/sbin/resize2fs", "/usr/sbin/tune2fs", "/etc/mke2fs.conf"}

// Of are the contents of an image that runs an executable of this machine, and has programs of Debian.
func Of(executable string, programs ...string) Contents {
	path := "/usr/local/bin/" + filepath.Base(executable)
	return Contents{Programs: programs, Files: map[string]string{path: executable}, Entrypoint: []string{path}}
}

// Debian is the folder with the system that machines boot.
func Debian() string { return filepath.Join(landscape.Root(), "hack", "bin", "machine-root") }

// Image returns an image with two layers, which are not compressed. Images with the same programs share the first one.
func (c Contents) Image() (v1.Image, error) {
	root, err := filepath.EvalSymlinks(Debian())
	if err != nil {
		return nil, fmt.Errorf("%w: hack/landscape/machines/build.sh makes it", err)
	}
	programs, files := map[string]string{}, map[string]string{}
	maps.Copy(files, c.Files)
	for _, program := range c.Programs {
		if err := addTree(programs, root, program); err != nil {
			return nil, err
		}
	}
	var layers []v1.Layer
	for _, part := range []map[string]string{programs, files} {
		for _, file := range slices.Collect(maps.Values(part)) {
			if err := addLibraries(part, root, file); err != nil {
				return nil, err
			}
		}
		maps.DeleteFunc(part, func(name, file string) bool { return len(layers) > 0 && programs[name] == file })
		layer, err := layerOf(part, len(layers) == 0)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH,
		Config: v1.Config{Entrypoint: c.Entrypoint, Cmd: c.Arguments,
			Env: []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(image, layers...)
}

// Put makes images, and puts them into a registry.
func Put(ctx context.Context, r *registry.Registry, all map[string]Contents) error {
	for reference, contents := range all {
		image, err := contents.Image()
		if err != nil {
			return fmt.Errorf("image %s: %w", reference, err)
		}
		if err := r.Put(ctx, reference, image); err != nil {
			return fmt.Errorf("image %s: %w", reference, err)
		}
	}
	return nil
}

// layerOf returns a layer with files. The first one also has what all file systems have.
func layerOf(files map[string]string, first bool) (v1.Layer, error) {
	content, err := archive(files, first)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressionLevel(gzip.NoCompression))
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

// archive is an archive with files and the folders that contain them, and, if it is the first one, with what all file systems have.
func archive(files map[string]string, first bool) ([]byte, error) {
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
	if !first {
		return content.Bytes(), writer.Close()
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
