// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// The media types of charts: https://helm.sh/docs/topics/registries/.
const (
	chartConfigType types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartLayerType  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chartOf returns the name of a packed chart and its artifact. Unlike that of `helm push`, it has the time of the commit.
func chartOf(archive string, created time.Time) (string, publication, error) {
	content, err := os.ReadFile(archive)
	if err != nil {
		return "", publication{}, err
	}
	description, err := chartYAML(content)
	if err != nil {
		return "", publication{}, err
	}
	var chart struct{ Name, Version, Description string }
	if err := yaml.Unmarshal(description, &chart); err != nil {
		return "", publication{}, err
	}
	config, err := yaml.YAMLToJSON(description)
	if err != nil {
		return "", publication{}, err
	}
	artifact, err := newArtifact(chartConfigType, config, chartLayerType, content, nil, map[string]string{
		"org.opencontainers.image.title":       chart.Name,
		"org.opencontainers.image.version":     chart.Version,
		"org.opencontainers.image.description": chart.Description,
		"org.opencontainers.image.source":      sourceURL,
		"org.opencontainers.image.created":     created.Format(time.RFC3339),
	})
	return chart.Name, publication{manifest: artifact}, err
}

// chartYAML returns the Chart.yaml of a packed chart.
func chartYAML(archive []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	reader := tar.NewReader(unzipped)
	for {
		header, err := reader.Next()
		if err != nil {
			return nil, fmt.Errorf("no Chart.yaml: %w", err)
		}
		if _, name, _ := strings.Cut(header.Name, "/"); name == "Chart.yaml" {
			return io.ReadAll(reader)
		}
	}
}
