// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// startCluster builds what is missing and starts the cluster, with what works on pods and ManagedResources.
func (d *demo) startCluster(ctx context.Context) error {
	if err := d.command(ctx, filepath.Join(landscape.Root(), "hack", "landscape", "build.sh")); err != nil {
		return err
	}
	if err := d.command(ctx, "go", "build", "-o", filepath.Join(landscape.Root(), "hack", "bin")+string(filepath.Separator),
		"./cmd/..."); err != nil {
		return err
	}
	if err := landscape.DefaultBinaries().Check(); err != nil {
		return err
	}
	close(d.built)

	dir, err := landscape.CacheDir("demo")
	if err != nil {
		return err
	}
	d.landscape, err = landscape.New(landscape.Options{Dir: dir, Namespace: namespace, Workloads: true})
	if err != nil {
		return err
	}
	if err := d.landscape.StartCluster(ctx); err != nil {
		return err
	}
	return d.startSeedNode(ctx)
}

// command runs a command in the project's root; its output goes to the screen.
func (d *demo) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) // #nosec G204 -- constant arguments
	cmd.Dir = landscape.Root()
	cmd.Env = os.Environ()
	cmd.Stdout, cmd.Stderr = d.screen, d.screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

// startControllers starts the controllers and plays the kubelets, whose nodes join with the taints that they have in Gardener.
func (d *demo) startControllers() error {
	if err := d.landscape.StartControllers(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	nodes := &kubelets.Kubelets{
		Seed: d.landscape.Client, Shoot: d.landscape.Client, Namespace: namespace,
		Servers: d.active(), Pods: true, Cloud: true, Taints: []corev1.Taint{kubelets.CriticalComponentsTaint}, Log: logr.Discard(),
	}
	var group sync.WaitGroup
	group.Go(func() { nodes.Run(ctx) })
	d.stopNodes = func() {
		cancel()
		group.Wait()
	}
	return nil
}
