// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// crdFiles are the custom resource definitions that the controllers need, in Gardener's module.
var crdFiles = []string{
	"10-crd-autoscaling.k8s.io_verticalpodautoscalers.yaml",
	"10-crd-extensions.gardener.cloud_clusters.yaml",
	"10-crd-extensions.gardener.cloud_controlplanes.yaml",
	"10-crd-extensions.gardener.cloud_infrastructures.yaml",
	"10-crd-extensions.gardener.cloud_networks.yaml",
	"10-crd-extensions.gardener.cloud_operatingsystemconfigs.yaml",
	"10-crd-extensions.gardener.cloud_workers.yaml",
	"10-crd-machine.sapcloud.io_machineclasses.yaml",
	"10-crd-machine.sapcloud.io_machinedeployments.yaml",
	"10-crd-machine.sapcloud.io_machines.yaml",
	"10-crd-machine.sapcloud.io_machinesets.yaml",
	"10-crd-resources.gardener.cloud_managedresources.yaml",
}

// InstallCRDs installs the custom resource definitions of Gardener and machine-controller-manager that the controllers need, and
// those in further files of Gardener's folder of custom resource definitions for seeds. It waits until they are served.
func InstallCRDs(ctx context.Context, config *rest.Config, further ...string) error {
	dir, err := moduleDir(ctx, "github.com/gardener/gardener")
	if err != nil {
		return err
	}
	options := envtest.CRDInstallOptions{ErrorIfPathMissing: true}
	for _, file := range slices.Concat(crdFiles, further) {
		options.Paths = append(options.Paths, filepath.Join(dir, "example", "seed-crds", file))
	}
	_, err = envtest.InstallCRDs(config, options)
	return err
}

// moduleDir returns the folder with the sources of a module that the project requires.
func moduleDir(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module) // #nosec G204 -- constant arguments
	cmd.Dir = Root()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}
