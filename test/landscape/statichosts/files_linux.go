// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxAttribute is the longest value of an attribute, and the longest list of names, on Linux.
const maxAttribute = 64 << 10

// Files describes what is on the disk at paths and below them: mode, owner, size, time, content, target of links, and extended
// attributes. It reads the disk, not what the host mounted over it. Paths that are not there are not in the result.
func (h *Host) Files(paths ...string) (map[string]string, error) {
	files := map[string]string{}
	err := h.disk.do(func(root string) error {
		for _, path := range paths {
			err := filepath.WalkDir(filepath.Join(root, path), func(path string, _ fs.DirEntry, err error) error {
				if err == nil {
					files[strings.TrimPrefix(path, root)], err = describe(path)
				}
				return err
			})
			if err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		return nil
	})
	return files, err
}

func describe(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s %d:%d %s", info.Mode(), stat.Uid, stat.Gid, info.ModTime().UTC().Format(time.RFC3339Nano))
	switch {
	case info.Mode().IsRegular():
		sum, err := sumOf(path)
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" %d %s", info.Size(), sum)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		line += " -> " + target
	case info.Mode().Type()&fs.ModeDevice != 0:
		line += fmt.Sprintf(" %d", stat.Rdev)
	}
	attributes, err := attributesOf(path)
	return line + attributes, err
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func attributesOf(path string) (string, error) {
	names := make([]byte, maxAttribute)
	n, err := unix.Llistxattr(path, names)
	if err != nil {
		return "", fmt.Errorf("attributes of %s: %w", path, err)
	}
	var out strings.Builder
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, maxAttribute)
		n, err := unix.Lgetxattr(path, name, value)
		if err != nil {
			return "", fmt.Errorf("attribute %s of %s: %w", name, path, err)
		}
		fmt.Fprintf(&out, " %s=%x", name, value[:n])
	}
	return out.String(), nil
}

// Find returns the files on the disk that contain one of the texts, in what was written since the host was installed.
func (h *Host) Find(texts ...string) ([]string, error) {
	var found []string
	err := h.disk.do(func(string) error {
		upper := filepath.Join(h.disk.path, "upper")
		return filepath.WalkDir(upper, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			for _, text := range texts {
				if bytes.Contains(content, []byte(text)) {
					found = append(found, strings.TrimPrefix(path, upper))
					break
				}
			}
			return err
		})
	})
	return found, err
}
