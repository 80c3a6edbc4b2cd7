// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command registration packs the charts and writes what registers the extension with a Gardener: the ControllerDeployment has the
// packed chart in itself, the Extension refers to charts in a registry. A release names images and charts by the digests that hack/oci
// wrote, in both. The same sources give the same bytes.
package main

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/gardener/gardener-extension-provider-hybrid/hack/registration/pack"
)

//go:embed *.yaml.tpl
var templates embed.FS

// names of the folders below charts/.
const (
	providerChart    = "gardener-extension-provider-hybrid"
	runtimeChart     = "gardener-extension-admission-hybrid/charts/runtime"
	applicationChart = "gardener-extension-admission-hybrid/charts/application"
	hostsChart       = "static-host-operator"
)

// resource is a kind of objects that the extension is responsible for.
type resource struct {
	Kind, Type string
}

// registration are the values of the templates.
type registration struct {
	Version   string
	Chart     string
	Resources []resource

	// Registry is the prefix of the names of images and charts.
	Registry string
	digests  digests
}

// digests are those of images and charts in a registry, by their names.
type digests struct {
	Images map[string]string `json:"images"`
	Charts map[string]string `json:"charts"`
}

// Tag returns the tag of an image, with its digest if that is known.
func (r registration) Tag(image string) string {
	return pinned(r.Version, r.digests.Images[image])
}

// Ref returns the reference of a chart, with its digest if that is known.
func (r registration) Ref(chart string) string {
	return r.Registry + "/charts/" + chart + ":" + pinned(r.Version, r.digests.Charts[chart])
}

// Published reports whether a chart is known to be in a registry.
func (r registration) Published(chart string) bool {
	return r.digests.Charts[chart] != ""
}

// Own are the images of this project that shoots run.
func (registration) Own() []string {
	return []string{"machine-controller-manager-provider-hybrid", "cloud-controller-manager-hybrid", "cinder-csi-plugin-hybrid",
		"manila-csi-plugin-hybrid"}
}

func pinned(tag, digest string) string {
	if digest == "" {
		return tag
	}
	return tag + "@" + digest
}

var resources = []resource{
	{"BackupBucket", "hybrid"},
	{"BackupEntry", "hybrid"},
	{"Bastion", "hybrid"},
	{"ControlPlane", "hybrid"},
	{"DNSRecord", "hybrid-designate"},
	{"DNSRecord", "hybrid-rfc2136"},
	{"Infrastructure", "hybrid"},
	{"SelfHostedShootExposure", "hybrid"},
	{"Worker", "hybrid"},
}

func main() {
	root := flag.String("root", ".", "folder of the sources")
	out := flag.String("out", "example", "folder that the registrations are written to, none if empty")
	archives := flag.String("charts", "", "folder that the packed charts are written to, none if empty")
	registry := flag.String("registry", "registry.example.com", "prefix of the names of images and charts")
	digests := flag.String("digests", "", "file with the digests of images and charts, none if empty")
	flag.Parse()
	if err := run(*root, *out, *archives, *registry, *digests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, out, archives, registry, digests string) error {
	version, err := os.ReadFile(filepath.Join(root, "VERSION")) // #nosec G304 -- a file of the sources
	if err != nil {
		return err
	}
	values := registration{Version: strings.TrimSpace(string(version)), Resources: resources, Registry: strings.TrimSuffix(registry, "/")}
	if digests != "" {
		content, err := os.ReadFile(digests) // #nosec G304 -- a file that the caller names
		if err != nil {
			return err
		}
		if err := json.Unmarshal(content, &values.digests); err != nil {
			return fmt.Errorf("%s: %w", digests, err)
		}
	}
	for _, folder := range []string{providerChart, runtimeChart, applicationChart, hostsChart} {
		c, err := pack.Read(filepath.Join(root, "charts", filepath.FromSlash(folder)))
		if err != nil {
			return err
		}
		if c.Version != values.Version {
			return fmt.Errorf("the chart %s has version %s, but VERSION says %s", c.Name, c.Version, values.Version)
		}
		packed, err := c.Archive()
		if err != nil {
			return err
		}
		if folder == providerChart {
			values.Chart = base64.StdEncoding.EncodeToString(packed)
		}
		if archives != "" {
			if err := write(filepath.Join(archives, c.Name+"-"+c.Version+".tgz"), packed); err != nil {
				return err
			}
		}
	}
	if out == "" {
		return nil
	}
	return values.write(out)
}

// write writes a file for each template.
func (r registration) write(dir string) error {
	all, err := template.ParseFS(templates, "*.yaml.tpl")
	if err != nil {
		return err
	}
	for _, t := range all.Templates() {
		var content bytes.Buffer
		if err := t.Execute(&content, r); err != nil {
			return err
		}
		if err := write(filepath.Join(dir, strings.TrimSuffix(t.Name(), ".tpl")), content.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- a folder of the sources
		return err
	}
	return os.WriteFile(path, content, 0o644) // #nosec G306 -- a file of the sources
}
