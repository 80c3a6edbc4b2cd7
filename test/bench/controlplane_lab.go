// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
	landscapeshoot "github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// shootMachines are as many as the example's pool has at least, one in each zone.
const shootMachines = 4

// containers are the executables of what runs as processes in the pods of the control plane, by Deployment and container. Ours are
// built for the run. The CSI driver of vSphere is not among them: it refuses the simulated vCenter, whose version is too old.
var containers = map[string]map[string]string{
	"cloud-controller-manager": {cloudControllerManager: cloudControllerManager},
	"csi-snapshot-controller":  {"csi-snapshot-controller": "snapshot-controller"},
	"csi-cinder-controller": {
		"cinder-csi-plugin": "cinder-csi-plugin-hybrid",
		"csi-provisioner":   "csi-provisioner", "csi-attacher": "csi-attacher", "csi-resizer": "csi-resizer",
		"csi-snapshotter": "csi-snapshotter",
	},
	"local-volumes-controller": {"local-path-provisioner": "local-path-provisioner"},
}

// programs are the containers with executables in the folder of ours, or else in that of others.
func programs(own, others string) []pods.Program {
	var result []pods.Program
	for deployment, executables := range containers {
		for container, name := range executables {
			path := filepath.Join(own, name)
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(others, name)
			}
			result = append(result, pods.Program{Deployment: deployment, Container: container, Path: path})
		}
	}
	slices.SortFunc(result, func(a, b pods.Program) int {
		return strings.Compare(a.Deployment+"/"+a.Container, b.Deployment+"/"+b.Container)
	})
	return result
}

// controlPlaneLab is a shoot on all platforms whose control plane runs as its charts say.
type controlPlaneLab struct {
	progress  io.Writer
	dir       string
	vc        *vcenter.VCenter
	inventory *metal.Inventory
	shoot     *landscapeshoot.Shoot
	programs  []pods.Program
}

// newControlPlane starts the sites and the processes of a seed. What it returns is to be closed, also after an error.
func newControlPlane(ctx context.Context, b *Bed) (*controlPlaneLab, error) {
	c := &controlPlaneLab{progress: b.progress}
	return c, c.start(ctx, b)
}

func (c *controlPlaneLab) start(ctx context.Context, b *Bed) (err error) {
	if b.cloud == nil {
		if err := b.start(ctx); err != nil {
			return err
		}
	}
	if c.dir, err = os.MkdirTemp("", "bench"); err != nil { // sockets have short paths
		return err
	}
	build := exec.CommandContext(ctx, filepath.Join("hack", "landscape", "build.sh"))
	build.Dir, build.Stdout, build.Stderr = landscape.Root(), c.progress, c.progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the landscape: %w", err)
	}
	own := filepath.Join(c.dir, "bin")
	if err := os.Mkdir(own, 0o700); err != nil {
		return err
	}
	binaries, err := landscapeshoot.Build(ctx, own, c.progress)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.progress, "  start a vCenter and an inventory")
	if c.vc, err = vcenter.Start(ctx, c.dir, vcenter.Options{Guest: hybridGuest}); err != nil {
		return err
	}
	if c.inventory, err = metal.Start(ctx,
		metal.Options{Dir: filepath.Join(c.dir, "inventory"), Metal3: true, IronCore: true, IPAM: true}); err != nil {
		return err
	}
	if err := c.makeHosts(ctx); err != nil {
		return err
	}
	fmt.Fprintln(c.progress, "  start a seed")
	c.programs = programs(own, filepath.Join(landscape.Root(), "hack", "bin"))
	c.shoot, err = landscapeshoot.Start(ctx, landscapeshoot.Options{
		Name: "shoot--bench--" + rand.String(5), Dir: c.dir, Bed: b.openstack, VCenter: c.vc, Inventory: c.inventory, Binaries: binaries,
		Workloads: true, Programs: c.programs,
	})
	if err != nil {
		return err
	}
	if err := landscape.InstallCRDs(ctx, c.shoot.Seed.Cluster.Config,
		"10-crd-monitoring.coreos.com_prometheusrules.yaml", "10-crd-monitoring.coreos.com_servicemonitors.yaml"); err != nil {
		return err
	}
	return c.shoot.CreateCluster(ctx, func(*v1alpha1.CloudProfileSite) {})
}

// makeHosts makes the hosts of both sites of bare metal that the example's pools ask for.
func (c *controlPlaneLab) makeHosts(ctx context.Context) error {
	if err := c.inventory.Grant(ctx); err != nil {
		return err
	}
	if err := c.inventory.MakePool(ctx,
		metal.Pool{Name: "racks", Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"}); err != nil {
		return err
	}
	_, small := c.inventory.MakeHosts(ctx,
		metal.Batch{Prefix: "rack-s", Count: 2, Labels: map[string]string{rackLabel: rackName, "size": "s"}})
	_, large := c.inventory.MakeHosts(ctx,
		metal.Batch{Prefix: "rack-l", Count: 1, Labels: map[string]string{rackLabel: rackName, "size": "l"}})
	_, servers := c.inventory.MakeServers(ctx, metal.Batch{Prefix: "hall-s", Count: 2, Labels: map[string]string{"hall": "h1", "size": "s"}})
	return errors.Join(small, large, servers)
}

// processes are the IDs of the processes that run, by Deployment and container.
func (c *controlPlaneLab) processes() map[string]int {
	found := map[string]int{v1beta1constants.DeploymentNameMachineControllerManager + "/" + driverContainer: c.shoot.Seed.Driver.PID()}
	for _, program := range c.programs {
		if process := c.shoot.ControlPlane.Process(program.Deployment, program.Container); process != nil && process.Running() {
			found[program.Deployment+"/"+program.Container] = process.PID()
		}
	}
	return found
}

// waitProcesses waits until all containers run that can.
func (c *controlPlaneLab) waitProcesses(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, look, true, func(context.Context) (bool, error) {
		return len(c.processes()) == len(c.programs)+1, c.shoot.Seed.Check()
	})
	if err != nil {
		return fmt.Errorf("%d of %d containers run: %w", len(c.processes())-1, len(c.programs), err)
	}
	return nil
}

// waitNodes waits until the nodes of all machines are initialized.
func (c *controlPlaneLab) waitNodes(ctx context.Context) error {
	there, waiting := 0, 0
	err := wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		nodes := &corev1.NodeList{}
		if err := c.shoot.Seed.Client.List(ctx, nodes); err != nil {
			return false, err
		}
		there, waiting = uninitialized(nodes.Items)
		return there >= shootMachines && waiting == 0, c.shoot.Seed.Check()
	})
	if err != nil {
		return fmt.Errorf("%d nodes are there and %d of them wait to be initialized: %w", there, waiting, err)
	}
	return nil
}

// close stops what was started and removes what was made. It adds to an error what processes said last.
func (c *controlPlaneLab) close(ctx context.Context, err error) error {
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	errs := []error{err}
	if c.shoot != nil {
		if err != nil && c.shoot.ControlPlane != nil {
			for _, program := range c.programs {
				if process := c.shoot.ControlPlane.Process(program.Deployment, program.Container); process == nil || !process.Running() {
					errs = append(errs, fmt.Errorf("%s/%s does not run", program.Deployment, program.Container))
				}
			}
		}
		c.shoot.Stop()
		errs = append(errs, c.shoot.Sweep(cleanup))
	}
	if c.inventory != nil {
		c.inventory.Stop()
	}
	if c.vc != nil {
		c.vc.Stop(cleanup)
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}
