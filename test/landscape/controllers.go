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

// controllers makes the processes that work on the cluster. Intervals are short so that what is watched happens soon. The extension has
// a kubeconfig of its own.
func controllers(o Options, c *Cluster, kubeconfig string) (mcm, driver, extension *Process, err error) {
	ports, err := FreePorts(5)
	if err != nil {
		return nil, nil, nil, err
	}
	machines := func(port int) []string {
		return []string{
			"--control-kubeconfig=" + c.Kubeconfig, "--target-kubeconfig=" + c.Kubeconfig, "--namespace=" + o.Namespace,
			"--address=127.0.0.1", "--port=" + strconv.Itoa(port), "--leader-elect=false",
			"--kube-api-qps=100", "--kube-api-burst=200", "--min-resync-period=1m", "--v=3",
		}
	}
	process := func(name, path string, args ...string) *Process {
		return &Process{Name: name, Path: path, Args: args, Env: o.Env, LogFile: filepath.Join(o.Dir, "logs", name+".log")}
	}

	mcm = process("machine-controller-manager", o.Binaries.MCM,
		append(machines(ports[0]), "--machine-safety-overshooting-period=10s")...)
	driver = process("machine-controller-manager-provider-hybrid", o.Binaries.Driver,
		append(append(machines(ports[1]),
			"--machine-creation-timeout=10m", "--machine-health-timeout=1m", "--machine-drain-timeout=1m",
			"--machine-safety-orphan-vms-period=1m", "--machine-safety-apiserver-statuscheck-period=30s",
			"--machine-safety-apiserver-statuscheck-timeout=20s"), o.DriverArgs...)...)
	extension = process(extensionName, o.Binaries.Extension,
		append([]string{
			"--kubeconfig=" + kubeconfig, "--leader-election=false", "--ignore-operation-annotation=false",
			"--heartbeat-namespace=" + extensionNamespace,
			"--metrics-bind-address=127.0.0.1:" + strconv.Itoa(ports[2]), "--health-bind-address=127.0.0.1:" + strconv.Itoa(ports[3]),
			"--webhook-config-mode=url", "--webhook-config-url=127.0.0.1:" + strconv.Itoa(ports[4]), "--webhook-config-namespace=" +
				extensionNamespace,
			"--webhook-config-server-host=127.0.0.1", "--webhook-config-server-port=" + strconv.Itoa(ports[4]),
			"--webhook-config-cert-dir=" + filepath.Join(o.Dir, "webhook-certificates"),
			"--dns-allowed-networks=127.0.0.0/8", "--dns-allow-http=true",
		}, o.ExtensionArgs...)...)
	return mcm, driver, extension, nil
}
