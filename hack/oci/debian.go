// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// debianTools are tools of Debian 12.
type debianTools struct {
	// Packages have the tools. Their dependencies are fetched too, and only what the tools need is taken from them.
	Packages []string
	// Paths are the tools and their configuration, as glob patterns.
	Paths []string
}

// fileSystemTools format, check, grow and mount volumes: k8s.io/mount-utils and the drivers' own code call them.
var fileSystemTools = debianTools{
	Packages: []string{"btrfs-progs", "dash", "e2fsprogs", "mount", "udev", "util-linux", "xfsprogs"},
	Paths: []string{
		"bin/btrfs", "bin/dash", "bin/sh", "bin/findmnt", "bin/mount", "bin/udevadm", "bin/umount", "etc/mke2fs.conf",
		"sbin/blkid", "sbin/blockdev", "sbin/dumpe2fs", "sbin/e2fsck", "sbin/fsck", "sbin/fsck.*", "sbin/mke2fs", "sbin/mkfs", "sbin/mkfs.*",
		"sbin/resize2fs", "sbin/tune2fs", "sbin/xfs_repair", "usr/sbin/xfs_db", "usr/sbin/xfs_growfs", "usr/sbin/xfs_info", "usr/sbin/xfs_io",
	},
}

// debianPackage is a package that files of an image come from.
type debianPackage struct {
	Name, Version, Architecture, SHA256 string
}

// fetch returns the tools for an architecture with the libraries that they need, and the packages that they are from.
func (t *debianTools) fetch(ctx context.Context, architecture string) (files, []debianPackage, error) {
	dir, err := os.MkdirTemp("", "images-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	archives, err := t.download(ctx, dir, architecture)
	if err != nil {
		return nil, nil, err
	}
	all, owners := files{}, map[string]debianPackage{}
	for _, archive := range archives {
		p, err := unpack(ctx, archive, all, owners)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
		if p.Architecture != "all" && p.Architecture != architecture {
			return nil, nil, fmt.Errorf("%s is for %s", p.Name, p.Architecture)
		}
	}
	chosen, err := t.choose(all)
	if err != nil {
		return nil, nil, err
	}
	used := map[debianPackage]bool{}
	for name := range chosen {
		used[owners[name]] = true
	}
	packages := slices.SortedFunc(maps.Keys(used), func(a, b debianPackage) int { return strings.Compare(a.Name, b.Name) })
	return chosen, packages, nil
}

// download downloads the packages and their dependencies with apt, which checks their signatures, from the sources of Debian 12 that apt
// has here.
func (t *debianTools) download(ctx context.Context, dir, architecture string) ([]string, error) {
	sources, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)",
		"Created-By: Packages").Output()
	if err != nil {
		return nil, fmt.Errorf("the tools of the node service come from packages of Debian 12, which apt-get finds: %w", err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(sources)) {
		if fields := strings.Fields(line); len(fields) == 3 && strings.HasPrefix(fields[1], "bookworm") {
			lines[fmt.Sprintf("deb [arch=%s] %s\n", architecture, strings.Join(fields, " "))] = true
		}
	}
	if len(lines) == 0 {
		return nil, errors.New("apt has no sources of Debian 12")
	}
	for _, sub := range []string{"lists/partial", "archives/partial", "sources.d"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	for name, content := range map[string]string{"status": "", "sources.list": strings.Join(slices.Sorted(maps.Keys(lines)), "")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	settings := []string{"-q", "-o", "APT::Architecture=" + architecture, "-o", "APT::Architectures=" + architecture,
		"-o", "APT::Sandbox::User=",
		"-o", "Dir::State::status=" + filepath.Join(dir, "status"), "-o", "Dir::State::lists=" + filepath.Join(dir, "lists"),
		"-o", "Dir::Cache::archives=" + filepath.Join(dir, "archives"), "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
		"-o", "Dir::Etc::sourcelist=" + filepath.Join(dir, "sources.list"), "-o", "Dir::Etc::sourceparts=" + filepath.Join(dir, "sources.d"),
		"-o", "Debug::NoLocking=1"}
	install := append([]string{"install", "-y", "--download-only", "--no-install-recommends"}, t.Packages...)
	for _, args := range [][]string{{"update"}, install} {
		cmd := exec.CommandContext(ctx, "apt-get", append(slices.Clone(settings), args...)...)
		if output, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("apt-get %s: %w\n%s", args[0], err, output)
		}
	}
	return filepath.Glob(filepath.Join(dir, "archives", "*.deb"))
}

// unpack adds the files of a package.
func unpack(ctx context.Context, archive string, all files, owners map[string]debianPackage) (debianPackage, error) {
	fields, err := exec.CommandContext(ctx, "dpkg-deb", "--show", "--showformat=${Package} ${Version} ${Architecture}", archive).Output()
	if err != nil {
		return debianPackage{}, err
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		return debianPackage{}, err
	}
	sum := sha256.Sum256(content)
	p := debianPackage{SHA256: hex.EncodeToString(sum[:])}
	if _, err := fmt.Sscan(string(fields), &p.Name, &p.Version, &p.Architecture); err != nil {
		return p, err
	}
	packed, err := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive).Output()
	if err != nil {
		return p, err
	}
	reader := tar.NewReader(bytes.NewReader(packed))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		name := path.Clean(strings.TrimPrefix(header.Name, "./"))
		entry := file{kind: header.Typeflag, mode: header.Mode & 0o777, link: header.Linkname}
		switch header.Typeflag {
		case tar.TypeDir:
			continue
		case tar.TypeLink: // to a file that was before
			entry = all[path.Clean(strings.TrimPrefix(header.Linkname, "./"))]
		case tar.TypeReg:
			if entry.content, err = io.ReadAll(reader); err != nil {
				return p, err
			}
		case tar.TypeSymlink:
			entry.mode = 0o777
		}
		all[name], owners[name] = entry, p
	}
}

// choose returns the tools, what their links refer to, and the libraries that they need. A pattern without a file is an error.
func (t *debianTools) choose(all files) (files, error) {
	chosen := files{}
	var add func(name string) error
	add = func(name string) error {
		if _, ok := chosen[name]; ok {
			return nil
		}
		entry, ok := all[name]
		if !ok {
			return fmt.Errorf("no package has %s", name)
		}
		chosen[name] = entry
		if entry.kind == tar.TypeSymlink {
			target := entry.link
			if !path.IsAbs(target) {
				target = path.Join("/", path.Dir(name), target)
			}
			return add(strings.TrimPrefix(path.Clean(target), "/"))
		}
		for _, library := range libraries(entry.content) {
			found, err := find(all, library)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := add(found); err != nil {
				return err
			}
		}
		return nil
	}
	for _, pattern := range t.Paths {
		found := false
		for name := range all {
			if ok, err := path.Match(pattern, name); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
			found = true
			if err := add(name); err != nil {
				return nil, err
			}
		}
		if !found {
			return nil, fmt.Errorf("no package has %s", pattern)
		}
	}
	return chosen, nil
}

// libraries returns the names of the libraries, and the path of the loader, that an executable or a library needs.
func libraries(content []byte) []string {
	binary, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil // a script or data
	}
	needed, err := binary.ImportedLibraries()
	if err != nil {
		return nil
	}
	for _, program := range binary.Progs {
		if program.Type == elf.PT_INTERP {
			if loader, err := io.ReadAll(program.Open()); err == nil {
				needed = append(needed, strings.TrimRight(string(loader), "\x00"))
			}
		}
	}
	return needed
}

// find returns the path of a library, which is given by its name or its path.
func find(all files, library string) (string, error) {
	if path.IsAbs(library) {
		name := strings.TrimPrefix(library, "/")
		if _, ok := all[name]; ok {
			return name, nil
		}
		return "", fmt.Errorf("no package has %s", library)
	}
	for _, pattern := range []string{"lib/*-linux-*/", "usr/lib/*-linux-*/", "lib/systemd/", "usr/lib/*-linux-*/systemd/"} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if ok, err := path.Match(pattern+library, name); err == nil && ok {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("no package has the library %s", library)
}
