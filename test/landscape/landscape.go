// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options say what a landscape is.
type Options struct {
	// Dir is the folder for data, keys, the kubeconfig and logs.
	Dir string
	// Namespace is the shoot's namespace in the seed.
	Namespace string
	// Workloads lets DaemonSets, Deployments, scheduling and ManagedResources be real.
	Workloads bool
	// NodeGrace is the time after which the node of a kubelet that does not report is unknown, as kube-controller-manager finds out. Default:
	// no kube-controller-manager runs.
	NodeGrace time.Duration
	// Binaries are the executables. Default: DefaultBinaries().
	Binaries Binaries
	// Env are environment variables of the controllers in addition to those of this process.
	Env []string
	// DriverArgs are further arguments of the driver.
	DriverArgs []string
	// ExtensionArgs are further arguments of the extension.
	ExtensionArgs []string
	// Audited are users whose requests are logged beside those of the extension.
	Audited []string
}

// Landscape is a cluster with the controllers that work on it.
type Landscape struct {
	// Cluster is the seed and the shoot.
	Cluster *Cluster
	// MCM is machine-controller-manager.
	MCM *Process
	// Driver is our driver of machine-controller-manager.
	Driver *Process
	// Extension is our extension.
	Extension *Process
	// NodeLifecycle is kube-controller-manager with the controllers of nodes alone, nil if it is not wanted.
	NodeLifecycle *Process
	// Workloads are the processes that work on pods and ManagedResources, nil if they are not wanted.
	Workloads *Workloads
	// Client accesses the cluster without a cache.
	Client client.Client

	options Options
	access  access
}

// New prepares a landscape; nothing runs yet.
func New(o Options) (*Landscape, error) {
	if o.Binaries == (Binaries{}) {
		o.Binaries = DefaultBinaries()
	}
	if err := os.RemoveAll(filepath.Join(o.Dir, "logs")); err != nil {
		return nil, err
	}
	cluster, err := NewCluster(o.Dir, o.Binaries)
	if err != nil {
		return nil, err
	}
	l := &Landscape{Cluster: cluster, options: o}
	if o.Workloads {
		if l.Workloads, err = NewWorkloads(o.Dir, cluster, o.Binaries); err != nil {
			return nil, err
		}
	}
	if l.access, err = newAccess(o.Dir, cluster, o.Audited...); err != nil {
		return nil, err
	}
	if o.NodeGrace > 0 {
		if l.NodeLifecycle, err = nodeLifecycle(o, cluster); err != nil {
			return nil, err
		}
	}
	if l.MCM, l.Driver, err = machineControllers(o, cluster, ""); err != nil {
		return nil, err
	}
	l.Extension, err = extension(o, l.access.kubeconfig)
	return l, err
}

// MachineControllers makes machine-controller-manager and the driver for the machines of another namespace. They do not run yet, and who
// starts them stops them.
func (l *Landscape) MachineControllers(namespace string) (mcm, driver *Process, err error) {
	o := l.options
	o.Namespace = namespace
	return machineControllers(o, l.Cluster, "-"+namespace)
}

// StartCluster starts the cluster, installs the custom resource definitions, creates the namespaces and the extension's permissions, and
// starts what works on pods.
func (l *Landscape) StartCluster(ctx context.Context) error {
	if err := l.Cluster.Start(ctx); err != nil {
		return err
	}
	if err := InstallCRDs(ctx, l.Cluster.Config); err != nil {
		return err
	}
	c, err := client.New(l.Cluster.Config, client.Options{Scheme: Scheme})
	if err != nil {
		return err
	}
	l.Client = c
	for _, name := range []string{extensionNamespace, l.options.Namespace} {
		err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	if err := l.access.grant(ctx, l.Cluster, c); err != nil {
		return err
	}
	if l.NodeLifecycle != nil {
		if err := l.NodeLifecycle.Start(); err != nil {
			return err
		}
	}
	if l.Workloads != nil {
		return l.Workloads.Start(ctx)
	}
	return nil
}

// StartControllers starts the controllers. StartCluster must have returned.
func (l *Landscape) StartControllers() error {
	return errors.Join(l.MCM.Start(), l.Driver.Start(), l.Extension.Start())
}

// Processes are all processes of the landscape in the order of their start.
func (l *Landscape) Processes() []*Process {
	if l == nil {
		return nil
	}
	processes := []*Process{l.Cluster.Etcd, l.Cluster.APIServer}
	if l.NodeLifecycle != nil {
		processes = append(processes, l.NodeLifecycle)
	}
	if l.Workloads != nil {
		processes = append(processes, l.Workloads.Processes()...)
	}
	return append(processes, l.MCM, l.Driver, l.Extension)
}

// Check returns an error if a process ended without having been asked to, or if the extension asked for what its chart does not allow.
func (l *Landscape) Check() error {
	errs := []error{l.access.check()}
	for _, p := range l.Processes() {
		errs = append(errs, p.Check())
	}
	return errors.Join(errs...)
}

// Stop stops all processes in reverse order. Those that do not end in time are killed.
func (l *Landscape) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, p := range []*Process{l.Extension, l.Driver, l.MCM} {
		p.Stop(ctx)
	}
	if l.NodeLifecycle != nil {
		l.NodeLifecycle.Stop(ctx)
	}
	if l.Workloads != nil {
		l.Workloads.Stop(ctx)
	}
	l.Cluster.Stop(ctx)
}
