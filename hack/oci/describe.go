// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/uuid"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	bomType        types.MediaType = "application/vnd.cyclonedx+json"
	provenanceType types.MediaType = "application/vnd.in-toto+json"

	predicateType = "https://slsa.dev/provenance/v1"
	buildType     = sourceURL + "/blob/main/docs/operations/images.md"
)

// billOfMaterials lists the Go modules that a binary was built from, which are those of `go version -m`, and the packages of Debian.
func (o options) billOfMaterials(spec imageSpec, digest v1.Hash, info *buildinfo.BuildInfo, packages []debianPackage) ([]byte, error) {
	var components []cyclonedx.Component
	add := func(kind cyclonedx.ComponentType, name, version, purl string) {
		components = append(components, cyclonedx.Component{Type: kind, BOMRef: purl, Name: name, Version: version, PackageURL: purl})
	}
	golang := strings.TrimPrefix(info.GoVersion, "go")
	add(cyclonedx.ComponentTypeLibrary, "std", golang, goModule("std", golang))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		add(cyclonedx.ComponentTypeLibrary, module.Path, module.Version, goModule(module.Path, module.Version))
	}
	for _, p := range packages {
		purl := fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=debian-12", p.Name, url.QueryEscape(p.Version), p.Architecture)
		add(cyclonedx.ComponentTypeLibrary, p.Name, p.Version, purl)
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(sourceURL+"@"+digest.String())).URN()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: o.created.Format("2006-01-02T15:04:05Z"),
		Component: &cyclonedx.Component{Type: cyclonedx.ComponentTypeContainer, BOMRef: spec.Name, Name: spec.Name, Version: o.version,
			Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digest.Hex}}},
	}
	bom.Components = &components
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
	return out.Bytes(), err
}

// provenance says what an image was built from and how: https://slsa.dev/spec/v1.0/provenance. It is not signed.
func (o options) provenance(spec imageSpec, platform *v1.Platform, digest v1.Hash, info *buildinfo.BuildInfo,
	packages []debianPackage) ([]byte, error) {
	external := &structpb.Struct{Fields: map[string]*structpb.Value{
		"source": structpb.NewStringValue("git+" + sourceURL + "@" + o.revision), "version": structpb.NewStringValue(o.version),
		"image": structpb.NewStringValue(spec.Name), "platform": structpb.NewStringValue(platform.String()),
	}}
	sources := []*intoto.ResourceDescriptor{
		{Uri: "git+" + sourceURL, Digest: map[string]string{"gitCommit": o.revision}},
		{Uri: goModule("std", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, p := range packages {
		sources = append(sources, &intoto.ResourceDescriptor{Uri: "pkg:deb/debian/" + p.Name + "@" + p.Version + "?arch=" + p.Architecture,
			Digest: map[string]string{"sha256": p.SHA256}})
	}
	encoded, err := protojson.Marshal(&provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{BuildType: buildType, ExternalParameters: external, ResolvedDependencies: sources},
		RunDetails:      &provenance.RunDetails{Builder: &provenance.Builder{Id: buildType}},
	})
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := protojson.Unmarshal(encoded, predicate); err != nil {
		return nil, err
	}
	statement, err := protojson.Marshal(&intoto.Statement{
		Type: intoto.StatementTypeUri, PredicateType: predicateType, Predicate: predicate,
		Subject: []*intoto.ResourceDescriptor{{Name: spec.Name, Digest: map[string]string{"sha256": digest.Hex}}},
	})
	if err != nil {
		return nil, err
	}
	// The encoder of protocol buffers puts spaces where it likes.
	var compact bytes.Buffer
	err = json.Compact(&compact, statement)
	return compact.Bytes(), err
}
