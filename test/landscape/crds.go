// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// crdFiles are the custom resource definitions that the controllers need, in Gardener's module.
var crdFiles = []string{
	"10-crd-autoscaling.k8s.io_verticalpodautoscalers.yaml",
	"10-crd-extensions.gardener.cloud_backupbuckets.yaml",
	"10-crd-extensions.gardener.cloud_backupentries.yaml",
	"10-crd-extensions.gardener.cloud_bastions.yaml",
	"10-crd-extensions.gardener.cloud_clusters.yaml",
	"10-crd-extensions.gardener.cloud_controlplanes.yaml",
	"10-crd-extensions.gardener.cloud_dnsrecords.yaml",
	"10-crd-extensions.gardener.cloud_infrastructures.yaml",
	"10-crd-extensions.gardener.cloud_networks.yaml",
	"10-crd-extensions.gardener.cloud_operatingsystemconfigs.yaml",
	"10-crd-extensions.gardener.cloud_selfhostedshootexposures.yaml",
	"10-crd-extensions.gardener.cloud_workers.yaml",
	"10-crd-machine.sapcloud.io_machineclasses.yaml",
	"10-crd-machine.sapcloud.io_machinedeployments.yaml",
	"10-crd-machine.sapcloud.io_machines.yaml",
	"10-crd-machine.sapcloud.io_machinesets.yaml",
	"10-crd-resources.gardener.cloud_managedresources.yaml",
}

// InstallCRDs installs the custom resource definitions of Gardener, machine-controller-manager and etcd-druid that the controllers and
// webhooks need, and those in further files of Gardener's folder of custom resource definitions for seeds. It waits until they are served.
func InstallCRDs(ctx context.Context, config *rest.Config, further ...string) error {
	druid := CRDs{
		Module: "github.com/gardener/etcd-druid/api",
		Folder: filepath.Join("core", "v1alpha1", "crds"),
		Files:  []string{"druid.gardener.cloud_etcdcopybackupstasks.yaml", "druid.gardener.cloud_etcds.yaml"},
	}
	if err := druid.Install(ctx, config); err != nil {
		return err
	}
	return CRDs{
		Module: "github.com/gardener/gardener",
		Folder: filepath.Join("example", "seed-crds"),
		Files:  slices.Concat(crdFiles, further),
	}.Install(ctx, config)
}

// CRDs are files with custom resource definitions in the sources of a module.
type CRDs struct {
	// Main is the folder of the go.mod that says the version of the module, below the root folder of the project's sources.
	Main string
	// Module is the path of the module. Default: the project itself.
	Module string
	// Folder is the folder in the module.
	Folder string
	// Files are the files in the folder. Default: all.
	Files []string
}

// Install installs the custom resource definitions and waits until they are served.
func (c CRDs) Install(ctx context.Context, config *rest.Config) error {
	dir := Root()
	if c.Module != "" {
		var err error
		if dir, err = ModuleDir(ctx, c.Main, c.Module); err != nil {
			return err
		}
	}
	options := envtest.CRDInstallOptions{ErrorIfPathMissing: true}
	for _, file := range c.Files {
		options.Paths = append(options.Paths, filepath.Join(dir, c.Folder, file))
	}
	if len(c.Files) == 0 {
		options.Paths = []string{filepath.Join(dir, c.Folder)}
	}
	_, err := envtest.InstallCRDs(config, options)
	return err
}

// ModuleDir returns the folder with the sources of a module, which it downloads if they are not there. The version is that of the
// go.mod in a folder below the root folder of the project's sources.
func ModuleDir(ctx context.Context, main, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module) // #nosec G204 -- constant arguments
	cmd.Dir = filepath.Join(Root(), main)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of %s: %w", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("find the sources of %s: %w", module, err)
	}
	return found.Dir, nil
}
