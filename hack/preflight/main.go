// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Command preflight writes the page about the preflight checks from their tables.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

// page is the path of the page from the root of the project.
var page = filepath.Join("docs", "operations", "preflight.md")

//go:embed preflight.md.tpl
var text string

// area is a group of checks.
type area struct {
	Title  string
	Checks []platform.Check
}

func main() {
	content, err := render(areas())
	if err == nil {
		err = os.WriteFile(page, content, 0o644) // #nosec G306 -- a page of the documentation
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// areas returns all checks.
func areas() []area {
	platforms := extension.Infrastructures()
	return []area{
		{"Sites of all platforms", preflight.SiteChecks()},
		{"Pairs of sites", preflight.PairChecks()},
		{"Probes", preflight.ProbeChecks()},
		{"OpenStack", platforms[v1alpha1.PlatformOpenStack].Checks()},
		{"vSphere", platforms[v1alpha1.PlatformVSphere].Checks()},
		{"Bare metal", platforms[v1alpha1.PlatformMetal].Checks()},
	}
}

func render(areas []area) ([]byte, error) {
	var content bytes.Buffer
	err := template.Must(template.New("page").Parse(text)).Execute(&content, areas)
	return content.Bytes(), err
}
