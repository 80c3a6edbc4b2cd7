// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// startOperators starts the operators, waits until they are ready and plays the agents. Before that an operator ends if kube-apiserver
// does not answer.
func (i *Inventory) startOperators(ctx, background context.Context, o Options) error {
	ports, err := landscape.FreePorts(5)
	if err != nil {
		return err
	}
	if o.Metal3 {
		i.Metal3 = i.process("baremetal-operator", i.binaries.Metal3,
			"--namespace="+Namespace, "--health-addr="+address(ports[0]),
			"--provision="+orSecond(o.Provisioning).String(), "--deprovision="+orSecond(o.Cleaning).String())
		if err := i.Metal3.Start(); err != nil {
			return err
		}
	}
	if o.IronCore {
		if err := i.startIronCore(ctx, ports[1:4]); err != nil {
			return err
		}
		i.group.Go(func() { i.playAgents(background, "http://"+address(ports[1])) })
	}
	if o.IPAM {
		i.IPAM = i.process("ipam-provider-in-cluster", i.binaries.IPAM,
			"--webhook-port=0", "--metrics-bind-address=0", "--health-probe-bind-address="+address(ports[4]))
		if err := i.IPAM.Start(); err != nil {
			return err
		}
	}
	return i.waitReady(ctx, map[*landscape.Process]int{i.Metal3: ports[0], i.IronCore: ports[3], i.IPAM: ports[4]})
}

// waitReady waits for processes with health checks at ports. Those that are nil are none.
func (i *Inventory) waitReady(ctx context.Context, ports map[*landscape.Process]int) error {
	delete(ports, nil)
	for p, port := range ports {
		if err := p.WaitReady(ctx, "http://"+address(port)+"/readyz"); err != nil {
			return err
		}
	}
	return nil
}

// startIronCore starts metal-operator with its registry, its events and its health checks at three ports. Intervals are short so
// that what is watched happens soon.
func (i *Inventory) startIronCore(ctx context.Context, ports []int) error {
	sources, err := landscape.ModuleDir(ctx, binariesModule, metalOperator)
	if err != nil {
		return err
	}
	registry, events := strconv.Itoa(ports[0]), strconv.Itoa(ports[1])
	i.IronCore = i.process("metal-operator", i.binaries.IronCore,
		"--protocol=http", "--probe-image=probe", "--probe-os-image=probe-os",
		"--registry-url=http://127.0.0.1:"+registry, "--registry-port="+registry,
		"--event-url=http://127.0.0.1:"+events, "--event-port="+events,
		"--manager-namespace="+Namespace, "--metrics-bind-address=0", "--health-probe-bind-address="+address(ports[2]),
		"--discovery-ignition-path="+filepath.Join(sources, "config", "manager", "ignition-template.yaml"),
		"--server-resync-interval=2s", "--registry-resync-interval=1s", "--power-polling-interval=500ms",
		"--server-max-concurrent-reconciles=10", "--server-claim-max-concurrent-reconciles=10")
	i.IronCore.Env = append(i.IronCore.Env, "ENABLE_WEBHOOKS=false")
	return i.IronCore.Start()
}

// process makes a process that works on the cluster.
func (i *Inventory) process(name, path string, args ...string) *landscape.Process {
	return &landscape.Process{
		Name: name, Path: path, Args: args, Env: []string{"KUBECONFIG=" + i.Cluster.Kubeconfig, "POD_NAMESPACE=" + Namespace},
		LogFile: filepath.Join(i.dir, "logs", name+".log"),
	}
}

func address(port int) string {
	return "127.0.0.1:" + strconv.Itoa(port)
}

func orSecond(d time.Duration) time.Duration {
	if d == 0 {
		return time.Second
	}
	return d
}
