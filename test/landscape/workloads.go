// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	resourcemanagerconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/resourcemanager/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workloadControllers are the controllers of kube-controller-manager that run. Those of clouds do not, and neither does
// pod-garbage-collector, which would delete the pods of the seed's node: that has no Node, as the shoot is the same cluster.
var workloadControllers = []string{
	"daemonset-controller", "deployment-controller", "replicaset-controller", "statefulset-controller", "job-controller",
	"disruption-controller", "endpointslice-controller", "garbage-collector-controller", "namespace-controller", "node-lifecycle-controller",
	"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller", "persistentvolume-expander-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller", "serviceaccount-controller",
}

// Workloads are the processes that make pods and volumes of Deployments, DaemonSets and StatefulSets, schedule them, and apply
// ManagedResources. Pods run only where somebody plays the kubelet.
type Workloads struct {
	// ControllerManager is kube-controller-manager without the controllers of clouds.
	ControllerManager *Process
	// Scheduler is kube-scheduler.
	Scheduler *Process
	// ResourceManager is gardener-resource-manager for ManagedResources and tokens of all classes and for node-critical components.
	ResourceManager *Process

	cluster *Cluster
	ready   string
}

// NewWorkloads prepares the processes for a cluster; nothing runs yet. Their configuration and logs are below dir.
func NewWorkloads(dir string, c *Cluster, binaries Binaries) (*Workloads, error) {
	if err := check(binaries.KubeControllerManager, binaries.KubeScheduler, binaries.ResourceManager); err != nil {
		return nil, err
	}
	ports, err := FreePorts(5)
	if err != nil {
		return nil, err
	}
	// Gardener runs one gardener-resource-manager for the seed and one for each shoot; here one is both.
	config, err := WriteResourceManagerConfig(filepath.Join(dir, "gardener-resource-manager"), ResourceManagerOptions{
		Source: c.Kubeconfig, Target: c.Kubeconfig, Class: resourcemanagerconfigv1alpha1.AllResourceClass, Ports: ports[2:],
	})
	if err != nil {
		return nil, err
	}
	process := func(name, path string, args ...string) *Process {
		return &Process{Name: name, Path: path, Args: args, LogFile: filepath.Join(dir, "logs", name+".log")}
	}
	serving := func(port int) []string {
		return []string{
			"--kubeconfig=" + c.Kubeconfig, "--authentication-kubeconfig=" + c.Kubeconfig, "--authorization-kubeconfig=" + c.Kubeconfig,
			"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400",
		}
	}
	return &Workloads{
		ControllerManager: process("kube-controller-manager", binaries.KubeControllerManager, append(serving(ports[0]),
			"--controllers="+strings.Join(workloadControllers, ","), "--use-service-account-credentials=false",
			"--service-account-private-key-file="+c.signingKey(), "--node-monitor-period=1s",
			"--attach-detach-reconcile-sync-period=2s", "--pvclaimbinder-sync-period=2s")...),
		Scheduler:       process("kube-scheduler", binaries.KubeScheduler, serving(ports[1])...),
		ResourceManager: process("gardener-resource-manager", binaries.ResourceManager, "--config="+config),
		cluster:         c,
		ready:           loopback("http", ports[2]) + "/readyz",
	}, nil
}

// Start starts the processes and waits until gardener-resource-manager is ready. The cluster must be ready and know the custom
// resource definitions.
func (w *Workloads) Start(ctx context.Context) error {
	c, err := client.New(w.cluster.Config, client.Options{Scheme: Scheme})
	if err != nil {
		return err
	}
	if err := createPriorityClasses(ctx, c); err != nil {
		return err
	}
	for _, p := range w.Processes() {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return w.ResourceManager.WaitReady(ctx, w.ready)
}

// Processes are the processes in the order of their start.
func (w *Workloads) Processes() []*Process {
	return []*Process{w.ControllerManager, w.Scheduler, w.ResourceManager}
}

// Check returns an error if a process ended without having been asked to.
func (w *Workloads) Check() error {
	var errs []error
	for _, p := range w.Processes() {
		errs = append(errs, p.Check())
	}
	return errors.Join(errs...)
}

// Stop stops the processes.
func (w *Workloads) Stop(ctx context.Context) {
	for _, p := range w.Processes() {
		p.Stop(ctx)
	}
}

// writeFile writes a file that only its owner may read, and the folders above it.
func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}
