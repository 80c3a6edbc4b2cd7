// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"path/filepath"
	"strconv"
)

// extensionNamespace is the namespace of the extension.
const extensionNamespace = "garden"

// machineControllers makes machine-controller-manager and the driver for the machines of a namespace. Intervals are short so that what is
// watched happens soon.
func machineControllers(o Options, c *Cluster, name string) (mcm, driver *Process, err error) {
	ports, err := FreePorts(2)
	if err != nil {
		return nil, nil, err
	}
	process := func(program, path string, port int, args ...string) *Process {
		return o.process(program+name, path, append([]string{
			"--control-kubeconfig=" + c.Kubeconfig, "--target-kubeconfig=" + c.Kubeconfig, "--namespace=" + o.Namespace,
			"--address=127.0.0.1", "--port=" + strconv.Itoa(port), "--leader-elect=false",
			"--kube-api-qps=100", "--kube-api-burst=200", "--min-resync-period=1m", "--v=3",
		}, args...)...)
	}
	mcm = process("machine-controller-manager", o.Binaries.MCM, ports[0], "--machine-safety-overshooting-period=10s")
	driver = process("machine-controller-manager-provider-hybrid", o.Binaries.Driver, ports[1], append([]string{
		"--machine-creation-timeout=10m", "--machine-health-timeout=1m", "--machine-drain-timeout=1m",
		"--machine-safety-orphan-vms-period=1m", "--machine-safety-apiserver-statuscheck-period=30s",
		"--machine-safety-apiserver-statuscheck-timeout=20s",
	}, o.DriverArgs...)...)
	return mcm, driver, nil
}

// extension makes the extension, which has a kubeconfig of its own.
func extension(o Options, kubeconfig string) (*Process, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	return o.process(extensionName, o.Binaries.Extension, append([]string{
		"--kubeconfig=" + kubeconfig, "--leader-election=false", "--ignore-operation-annotation=false",
		"--heartbeat-namespace=" + extensionNamespace,
		"--metrics-bind-address=127.0.0.1:" + strconv.Itoa(ports[0]), "--health-bind-address=127.0.0.1:" + strconv.Itoa(ports[1]),
		"--webhook-config-mode=url", "--webhook-config-url=127.0.0.1:" + strconv.Itoa(ports[2]), "--webhook-config-namespace=" +
			extensionNamespace,
		"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port=" + strconv.Itoa(ports[2]),
		"--webhook-config-cert-dir=" + filepath.Join(o.Dir, "webhook-certificates"),
		"--dns-allowed-networks=127.0.0.0/8", "--dns-allow-http=true",
		"--site-discovery-interval=0", // specs count requests
	}, o.ExtensionArgs...)...), nil
}

// nodeLifecycle makes a kube-controller-manager that only finds out which nodes do not report, and taints them.
func nodeLifecycle(o Options, c *Cluster) (*Process, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	return o.process("kube-controller-manager", o.Binaries.KubeControllerManager,
		"--kubeconfig="+c.Kubeconfig, "--authentication-kubeconfig="+c.Kubeconfig, "--authorization-kubeconfig="+c.Kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(ports[0]), "--leader-elect=false",
		"--kube-api-qps=200", "--kube-api-burst=400", "--use-service-account-credentials=false",
		"--controllers=node-lifecycle-controller,taint-eviction-controller",
		"--node-monitor-period=1s", "--node-monitor-grace-period="+o.NodeGrace.String()), nil
}

// process makes a process with the environment of the controllers.
func (o Options) process(name, path string, args ...string) *Process {
	return &Process{Name: name, Path: path, Args: args, Env: o.Env, LogFile: filepath.Join(o.Dir, "logs", name+".log")}
}
