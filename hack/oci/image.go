// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const sourceURL = "https://github.com/gardener/gardener-extension-provider-hybrid"

// build builds an image for all platforms.
func (o options) build(ctx context.Context, spec imageSpec, base v1.Layer) (publication, error) {
	var referrers []v1.Image
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, wanted := range o.platforms {
		platform, err := v1.ParsePlatform(wanted)
		if err != nil {
			return publication{}, err
		}
		binary, err := o.compile(ctx, spec, platform)
		if err != nil {
			return publication{}, err
		}
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return publication{}, err
		}
		layers := []v1.Layer{base}
		var packages []debianPackage
		if spec.Tools != nil {
			var tools files
			if tools, packages, err = spec.Tools.fetch(ctx, platform.Architecture); err != nil {
				return publication{}, err
			}
			layer, err := tools.layer(o.created)
			if err != nil {
				return publication{}, err
			}
			layers = append(layers, layer)
		}
		own, err := binaryLayer(binary, spec.Name, o.created)
		if err != nil {
			return publication{}, err
		}
		image, err := o.assemble(spec, platform, append(layers, own))
		if err != nil {
			return publication{}, err
		}
		descriptor, err := partial.Descriptor(image)
		if err != nil {
			return publication{}, err
		}
		bom, err := o.billOfMaterials(spec, descriptor.Digest, info, packages)
		if err != nil {
			return publication{}, err
		}
		provenance, err := o.provenance(spec, platform, descriptor.Digest, info, packages)
		if err != nil {
			return publication{}, err
		}
		for _, a := range []struct {
			kind    types.MediaType
			content []byte
		}{{bomType, bom}, {provenanceType, provenance}} {
			referrer, err := newArtifact(a.kind, []byte("{}"), a.kind, a.content, descriptor, nil)
			if err != nil {
				return publication{}, err
			}
			referrers = append(referrers, referrer)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return publication{manifest: mutate.Annotations(index, o.annotations(spec)).(v1.ImageIndex), referrers: referrers}, nil
}

// annotations are those of the image specification of OCI.
func (o options) annotations(spec imageSpec) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    spec.Title,
		"org.opencontainers.image.source":   sourceURL,
		"org.opencontainers.image.version":  o.version,
		"org.opencontainers.image.revision": o.revision,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created":  o.created.Format("2006-01-02T15:04:05Z"),
	}
}

// assemble makes an image of layers.
func (o options) assemble(spec imageSpec, platform *v1.Platform, layers []v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, layer := range layers {
		var err error
		history := v1.History{Created: v1.Time{Time: o.created}, CreatedBy: "make images"}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = v1.Time{Time: o.created}
	config.Config = v1.Config{Entrypoint: []string{"/" + spec.Name}, WorkingDir: "/", User: userID + ":" + userID, Labels: o.annotations(spec),
		Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}
	if spec.Root {
		config.Config.User = "0:0"
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, o.annotations(spec)).(v1.Image), nil
}

// goModule is the package URL of a Go module.
func goModule(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + version
}
