// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	// memoryTime is how long the memory of a process is looked at, and memoryPeriod how often.
	memoryTime   = time.Minute
	memoryPeriod = time.Second

	ccmTimeout = 2 * time.Minute
	// nodeLook is how often nodes are looked at: as exactly are times known.
	nodeLook = 20 * time.Millisecond

	// The runs of the nodes that join while all sites are well, and while one hangs.
	runWell    = "well"
	runHanging = "hanging"

	// quantityInit is how long it took until a node was initialized, in seconds.
	quantityInit = "init"
	// quantitySize is the size of a file, in MiB.
	quantitySize = "size"
)

// joining is a node that joins.
type joining struct {
	// name is the name of the node and of its machine.
	name string
	// systemUUID is what the machine's firmware says, address what its system was told, empty if nothing.
	systemUUID, address string
}

// object is the node as its kubelet registers it, with the label that machine-controller-manager gives it later.
func (j joining) object(site string) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: j.name, Labels: map[string]string{v1alpha1.LabelSite: site, corev1.LabelHostname: j.name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			NodeInfo:   corev1.NodeSystemInfo{SystemUUID: j.systemUUID},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	if j.address != "" {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: j.address},
			{Type: corev1.NodeHostName, Address: j.name}}
	}
	return node
}

// measureCloudControllers lets nodes of three sites join, looks at the memory of the process then, and lets more join while
// OpenStack does not answer.
func measureCloudControllers(ctx context.Context, b *Bed) (m Measurement, err error) {
	c, err := newCloudControllers(ctx, b)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()

	fmt.Fprintln(b.progress, "  let nodes join on all sites")
	well, err := c.join(ctx, c.joining, nil)
	if err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  look at the memory for %s\n", memoryTime)
	memories, err := watchMemory(ctx, c.process)
	if err != nil {
		return m, err
	}

	fmt.Fprintln(b.progress, "  let nodes join while OpenStack does not answer")
	if err := c.cloud.proxy.SetFaults(countproxy.Fault{Name: "hang", Action: countproxy.ActionHang}); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, c.cloud.proxy.SetFaults()) }()
	hanging, err := c.join(ctx, all(c.further, vsphereSiteName, metalSiteName), c.further[siteName])
	if err != nil {
		return m, err
	}
	if c.cloud.proxy.Acted("hang") == 0 {
		return m, errors.New("no request hung")
	}

	var resident, proportional float64
	for _, used := range memories {
		m.Records = append(m.Records, sample(cloudControllerManager, quantityMemory, used.resident))
		resident, proportional = max(resident, used.resident), max(proportional, used.proportional)
	}
	for run, times := range map[string]map[string]time.Duration{runWell: well, runHanging: hanging} {
		for _, node := range slices.Sorted(maps.Keys(times)) {
			m.Records = append(m.Records, sample(run, quantityInit, times[node].Seconds()))
		}
	}
	m.Note = fmt.Sprintf("real OpenStack, simulated vCenter, %s; %d nodes on each of three sites; at most %.0f MiB resident, %.0f MiB "+
		"proportional in %s; "+
		"%d nodes of vSphere and bare metal joined at once while OpenStack hung with %d nodes waiting for it; first nodes, while the process "+
		"started: at most %.2f s",
		metalNote, ccmMachines, resident, proportional, memoryTime, len(hanging), len(c.further[siteName]),
		slices.Max(slices.Collect(maps.Values(well))).Seconds())
	return m, nil
}

// join lets nodes join all at once, after those that wait for a site that hangs, and returns how long it took until each was initialized.
// Those that wait must not be.
func (c *cloudControllers) join(ctx context.Context, nodes map[string][]joining, waiting []joining) (map[string]time.Duration, error) {
	for _, node := range waiting {
		if err := c.Client.Create(ctx, node.object(siteName)); err != nil {
			return nil, err
		}
	}
	if len(waiting) > 0 {
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	created := map[string]time.Time{}
	for site, list := range nodes {
		for _, node := range list {
			created[node.name] = time.Now()
			if err := c.Client.Create(ctx, node.object(site)); err != nil {
				return nil, err
			}
		}
	}
	took := map[string]time.Duration{}
	err := wait.PollUntilContextTimeout(ctx, nodeLook, ccmTimeout, true, func(ctx context.Context) (bool, error) {
		found := &corev1.NodeList{}
		if err := c.Client.List(ctx, found); err != nil {
			return false, err
		}
		for i := range found.Items {
			node := &found.Items[i]
			if initialized(node) {
				if slices.ContainsFunc(waiting, func(w joining) bool { return w.name == node.Name }) {
					return false, fmt.Errorf("node %s was initialized although its site hangs", node.Name)
				}
				if at, ok := created[node.Name]; ok && took[node.Name] == 0 {
					took[node.Name] = time.Since(at)
				}
			}
		}
		return len(took) == len(created), c.process.Check()
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d nodes are initialized: %w; last lines of the log:\n%s", len(took), len(created), err, c.process.Tail(20))
	}
	return took, nil
}

func initialized(node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
}

// watchMemory looks at the memory of a process for some time.
func watchMemory(ctx context.Context, process *landscape.Process) ([]memory, error) {
	var memories []memory
	for end := time.Now().Add(memoryTime); time.Now().Before(end); {
		used, err := memoryOf(process.PID())
		if err != nil {
			return nil, errors.Join(err, process.Check())
		}
		memories = append(memories, used)
		if err := sleep(ctx, memoryPeriod); err != nil {
			return nil, err
		}
	}
	return memories, nil
}

// measureBinary builds the cloud-controller-manager as its image is built, and looks at its size.
func measureBinary(ctx context.Context, b *Bed) (m Measurement, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(b.progress, "  build as for an image")
	cmd := exec.CommandContext(ctx, "make", "build", "BINARY="+cloudControllerManager, "OUTPUT="+dir) // #nosec G204 -- a folder of its own
	cmd.Dir = landscape.Root()
	cmd.Stdout, cmd.Stderr = b.progress, b.progress
	if err := cmd.Run(); err != nil {
		return m, fmt.Errorf("build: %w", err)
	}
	file, err := os.Stat(filepath.Join(dir, cloudControllerManager))
	if err != nil {
		return m, err
	}
	m.Records = append(m.Records, sample(cloudControllerManager, quantitySize, float64(file.Size())/(1<<20)))
	m.Note = "built as for an image of this machine"
	return m, nil
}

// worstNode is the longest time that a node needed while another site hung.
func worstNode(records []Record) (float64, error) {
	return worst(quantityInit)(slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Run != runHanging }))
}
