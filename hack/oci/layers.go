// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// userID is the user and the group that binaries run as which need no others.
const userID = "65532"

// file is a file, a folder or a link in an image. All belong to root.
type file struct {
	mode    int64
	kind    byte
	link    string
	content []byte
}

// files are files by their paths, which are relative to the root.
type files map[string]file

// layer packs the files, and the folders that they are in, sorted by path.
func (f files) layer(created time.Time) (v1.Layer, error) {
	all := maps.Clone(f)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = file{kind: tar.TypeDir, mode: 0o755}
			}
		}
	}
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entry := all[name]
		header := &tar.Header{Typeflag: entry.kind, Name: name, Linkname: entry.link, Mode: entry.mode, Size: int64(len(entry.content)),
			ModTime: created, Format: tar.FormatPAX}
		if entry.kind == tar.TypeDir {
			header.Name += "/"
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(entry.content); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// baseFiles are the files that all images have: users, a folder for temporary files, and the authorities that Mozilla trusts. Those
// that it trusts for old certificates only are left out, since a file cannot say so.
func baseFiles(created time.Time) (v1.Layer, error) {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	text := func(content string) file { return file{kind: tar.TypeReg, mode: 0o644, content: []byte(content)} }
	return files{
		"etc/passwd": text("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:" + userID + ":" + userID +
			":nonroot:/nonexistent:/sbin/nologin\n"),
		"etc/group":                         text("root:x:0:\nnonroot:x:" + userID + ":\n"),
		"etc/ssl/certs/ca-certificates.crt": text(authorities.String()),
		"tmp":                               {kind: tar.TypeDir, mode: 0o1777},
	}.layer(created)
}

// binaryLayer is the layer of a binary, in the root folder.
func binaryLayer(binary, name string, created time.Time) (v1.Layer, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	return files{name: {kind: tar.TypeReg, mode: 0o755, content: content}}.layer(created)
}
