// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package flannel is the network of pods on machines that boot.
package flannel

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/images"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// Image is its image.
const Image = "ghcr.io/flannel-io/flannel:v0.27.4"

//go:embed flannel.yaml.tmpl
var objects string

// Contents are those of its image.
func Contents() images.Contents {
	return images.Of(filepath.Join(landscape.Root(), "hack", "bin", "flanneld"), images.Base...)
}

// Objects are its objects for pods with addresses of a range, and for an API server at a host and a port.
func Objects(pods, host, port string) ([]*unstructured.Unstructured, error) {
	parsed, err := template.New("flannel").Parse(objects)
	if err != nil {
		return nil, err
	}
	var rendered bytes.Buffer
	if err := parsed.Execute(&rendered, map[string]string{"Pods": pods, "Host": host, "Port": port, "Image": Image}); err != nil {
		return nil, err
	}
	return rendering.Objects(rendered.String())
}
