// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// artifact is a manifest of OCI with one blob that is not an image: a packed chart, or a text about an image.
type artifact struct {
	config, manifest []byte
	blob             v1.Layer
}

// newArtifact makes an artifact. The type of its configuration says what it is; with a subject it is a referrer of that.
func newArtifact(configType types.MediaType, config []byte, blobType types.MediaType, content []byte, subject *v1.Descriptor,
	annotations map[string]string) (v1.Image, error) {
	a := &artifact{config: config, blob: static.NewLayer(content, blobType)}
	digest, size, err := v1.SHA256(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	blob, err := partial.Descriptor(a.blob)
	if err != nil {
		return nil, err
	}
	a.manifest, err = json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Subject: subject, Annotations: annotations,
		Config: v1.Descriptor{MediaType: configType, Digest: digest, Size: size}, Layers: []v1.Descriptor{*blob},
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(a)
}

// RawConfigFile implements partial.CompressedImageCore.
func (a *artifact) RawConfigFile() ([]byte, error) { return a.config, nil }

// MediaType implements partial.CompressedImageCore.
func (a *artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawManifest implements partial.CompressedImageCore.
func (a *artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

// LayerByDigest implements partial.CompressedImageCore.
func (a *artifact) LayerByDigest(digest v1.Hash) (partial.CompressedLayer, error) {
	if own, err := a.blob.Digest(); err != nil || own != digest {
		return nil, fmt.Errorf("the artifact has no blob %s", digest)
	}
	return a.blob, nil
}
