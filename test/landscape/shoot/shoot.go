// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// Sites are the names of the OpenStack sites in example/, in the order of openstack.Projects.
var Sites = [2]string{"cloud", "cloud2"}

// VSphereSite is the name of the vSphere site in example/openstack-vsphere and example/openstack-vsphere-metal. Their OpenStack
// site is the first of Sites.
const VSphereSite = "vc"

// MetalSites are the names of the sites with Metal3 and with IronCore in example/openstack-vsphere-metal.
var MetalSites = [2]string{"racks", "hall"}

// Options say what a shoot is.
type Options struct {
	// Name is the technical ID of the shoot and its namespace in the seed.
	Name string
	// Dir is the folder for data, keys, the kubeconfig and logs.
	Dir string
	// Bed is the OpenStack, which runs.
	Bed *openstack.Bed
	// Project serves as the first site, instead of the first of openstack.Projects, for tests that change its quotas.
	Project *openstack.Project
	// VCenter is the second site. Without it that is another project of OpenStack.
	VCenter *vcenter.VCenter
	// Inventory has the hosts of the sites of bare metal, which are there in addition to the vCenter. Without it there are none.
	Inventory *metal.Inventory
	// Binaries are the executables.
	Binaries landscape.Binaries
	// DriverArgs are further arguments of the driver.
	DriverArgs []string
	// ExtensionArgs are further arguments of the extension.
	ExtensionArgs []string
	// Workloads lets DaemonSets, Deployments, scheduling and ManagedResources be real. Nodes join as in Gardener: with taints, without a
	// provider ID and addresses that nobody told them.
	Workloads bool
	// Pods lets the kubelets play the pods that are bound to their nodes. It is implied if workloads are real.
	Pods bool
	// Programs run as containers of the control plane's pods if workloads are real.
	Programs []pods.Program
	// Audited are users whose requests are logged beside those of the extension.
	Audited []string
}

// Shoot is a shoot with the processes that work on it.
type Shoot struct {
	// Name is the technical ID of the shoot and its namespace in the seed.
	Name string
	// Seed has the processes.
	Seed *landscape.Landscape
	// ControlPlane has the processes of the control plane's pods, nil if workloads are not real.
	ControlPlane *pods.Node
	// Inspectors look at the projects of the sites.
	Inspectors [2]*openstack.Client
	// VCenter is the vSphere site, nil if there is none.
	VCenter *vcenter.VCenter
	// Inventory has the hosts of the sites of bare metal, nil if there are none.
	Inventory *metal.Inventory

	// Access are the credentials of the OpenStack sites, in the order of Sites.
	Access [2]openstack.Credentials

	stopNodes func()
}

// Build returns the executables, ours as landscape.BuildOwn builds them.
func Build(ctx context.Context, dir string, progress io.Writer) (landscape.Binaries, error) {
	own, err := landscape.BuildOwn(ctx, dir, progress, "./cmd/...")
	if err != nil {
		return landscape.Binaries{}, err
	}
	binaries := landscape.DefaultBinaries().WithOwn(own)
	return binaries, binaries.Check()
}

// Start starts all processes and plays the kubelets. Stop ends what was started, also after an error.
func Start(ctx context.Context, o Options) (*Shoot, error) {
	s := &Shoot{Name: o.Name, VCenter: o.VCenter, Inventory: o.Inventory}
	var err error
	for i, project := range openstack.Projects {
		if i == 0 && o.Project != nil {
			s.Access[i] = o.Project.Credentials
		} else if s.Access[i], err = o.Bed.Credentials(project); err != nil {
			return s, err
		}
		if s.Inspectors[i], err = openstack.NewClient(ctx, s.Access[i]); err != nil {
			return s, err
		}
	}
	s.Seed, err = landscape.New(landscape.Options{
		Dir: o.Dir, Namespace: o.Name, Binaries: o.Binaries, DriverArgs: o.DriverArgs, ExtensionArgs: o.ExtensionArgs, Workloads: o.Workloads,
		Audited: o.Audited,
	})
	if err != nil {
		return s, err
	}
	if err := s.Seed.StartCluster(ctx); err != nil {
		return s, err
	}
	if o.Workloads {
		if err := s.startControlPlane(ctx, o); err != nil {
			return s, err
		}
	}
	if err := s.Seed.StartControllers(); err != nil {
		return s, err
	}
	s.playKubelets(o.Pods)
	return s, nil
}

// startControlPlane plays the node that the control plane's pods run on.
func (s *Shoot) startControlPlane(ctx context.Context, o Options) error {
	if err := s.Seed.Cluster.CreateGenericKubeconfig(ctx, s.Seed.Client, s.Name); err != nil {
		return err
	}
	s.ControlPlane = &pods.Node{Client: s.Seed.Client, Namespace: s.Name, Dir: o.Dir, Programs: o.Programs, Log: logr.Discard()}
	return s.ControlPlane.Start(ctx)
}

// openStackSites are the names of the shoot's sites that are projects of OpenStack.
func (s *Shoot) openStackSites() []string {
	if s.VCenter != nil {
		return Sites[:1]
	}
	return Sites[:]
}

// folder is where the objects of the shoot are below example/.
func (s *Shoot) folder() string {
	switch {
	case s.Inventory != nil:
		return "openstack-vsphere-metal/"
	case s.VCenter != nil:
		return "openstack-vsphere/"
	default:
		return ""
	}
}

// playKubelets lets a node join as soon as its server is active, its virtual machine has an address or its host has booted.
func (s *Shoot) playKubelets(pods bool) {
	ctx, cancel := context.WithCancel(context.Background())
	servers := openstack.NewWatch(s.Name, s.Inspectors[:]...).Active
	if s.VCenter != nil {
		servers = kubelets.Together(servers, vcenter.NewWatch(s.VCenter, s.Name).Active)
	}
	if s.Inventory != nil {
		servers = kubelets.Together(servers, metal.NewWatch(s.Inventory, s.Name).Active)
	}
	nodes := &kubelets.Kubelets{
		Seed: s.Seed.Client, Shoot: s.Seed.Client, Namespace: s.Name,
		Servers: servers, Log: logr.Discard(), Pods: pods,
	}
	if s.ControlPlane != nil {
		nodes.Pods, nodes.Cloud, nodes.Taints = true, true, []corev1.Taint{kubelets.CriticalComponentsTaint}
	}
	var group sync.WaitGroup
	group.Go(func() { nodes.Run(ctx) })
	s.stopNodes = func() {
		cancel()
		group.Wait()
	}
}

// Stop ends what Start started.
func (s *Shoot) Stop() {
	if s.stopNodes != nil {
		s.stopNodes()
	}
	if s.ControlPlane != nil {
		s.ControlPlane.Stop()
	}
	if s.Seed != nil {
		s.Seed.Stop()
	}
}

// Processes are those of the seed and of the inventory, none of a shoot that has not been started.
func (s *Shoot) Processes() []*landscape.Process {
	if s == nil {
		return nil
	}
	processes := s.Seed.Processes()
	if s.Inventory != nil {
		processes = append(processes, s.Inventory.Processes()...)
	}
	return processes
}

// Sweep deletes what is left of the shoot in both projects, after a test that failed. What is to be shown is shown before.
func (s *Shoot) Sweep(ctx context.Context) error {
	var errs []error
	for _, inspector := range s.Inspectors {
		if inspector != nil {
			errs = append(errs, inspector.Sweep(ctx, s.Name))
		}
	}
	return errors.Join(errs...)
}

// Objects are all objects of the shoot in both projects.
func (s *Shoot) Objects(ctx context.Context) ([]openstack.Object, error) {
	var all []openstack.Object
	for _, inspector := range s.Inspectors {
		objects, err := inspector.Objects(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}
