// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
	containermemory "github.com/gardener/gardener-extension-provider-hybrid/test/memory"
)

const (
	// driverContainer is the container that the webhook adds to the pods of machine-controller-manager.
	driverContainer = "machine-controller-manager-provider-hybrid"

	// quantityRequest is the memory that a container requests, in MiB.
	quantityRequest = "request"
	// quantityAnonymous is the memory of a process that belongs to no file, in MiB.
	quantityAnonymous   = "anonymous"
	controlPlaneTimeout = 10 * time.Minute

	// enough is the part of the samples that a request must not be below.
	enough = 0.95
)

// measureMemoryRequests runs the control plane of a shoot on all platforms, reads what its containers request, and samples what
// their processes have in memory while machines are created and some time after.
func measureMemoryRequests(ctx context.Context, b *Bed) (m Measurement, err error) {
	c, err := newControlPlane(ctx, b)
	defer func() { err = c.close(ctx, err) }()
	if err != nil {
		return m, err
	}
	sampler := &sampler{values: map[string][]containermemory.Usage{}}
	sampling, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { sampler.run(sampling, c.processes) })
	stop := func() {
		cancel()
		group.Wait()
	}
	defer stop()
	if err := c.create(ctx); err != nil {
		return m, err
	}
	fmt.Fprintf(b.progress, "  look at the memory for %s\n", memoryTime)
	if err := sleep(ctx, memoryTime); err != nil {
		return m, err
	}
	seed, shoot, err := c.requests(ctx)
	if err != nil {
		return m, err
	}
	stop()

	m.Records = slices.Concat(seed, shoot)
	var measured []string
	resident := 0.0
	for container, usages := range sampler.values {
		var all, anonymous []float64
		for _, usage := range usages {
			all, anonymous = append(all, float64(usage.Resident)/containermemory.MiB), append(anonymous,
				float64(usage.Anonymous)/containermemory.MiB)
			m.Records = append(m.Records, sample(container, quantityAnonymous, anonymous[len(anonymous)-1]))
		}
		resident += percentile(all, enough)
		measured = append(measured, fmt.Sprintf("%s %.0f (%.0f with files)", container, percentile(anonymous, enough), percentile(all, enough)))
	}
	slices.Sort(measured)
	m.Note = fmt.Sprintf("%.0f in the seed, %.0f for one pod of each DaemonSet; 95th percentile of the memory of processes without, and "+
		"with, pages of files: %s; those with files are %.0f together; not measured: %s",
		total(seed), total(shoot), strings.Join(measured,
			", "), resident, strings.Join(missing(slices.Concat(seed, shoot), sampler.values), ", "))
	return m, nil
}

// sampler samples the memory of containers.
type sampler struct {
	values map[string][]containermemory.Usage
}

func (s *sampler) run(ctx context.Context, processes func() map[string]int) {
	for ctx.Err() == nil {
		for container, pid := range processes() {
			if usage, err := containermemory.Of(pid); err == nil { // it may have ended meanwhile
				s.values[container] = append(s.values[container], usage)
			}
		}
		_ = sleep(ctx, memoryPeriod)
	}
}

// missing are the containers that were not measured.
func missing(requests []Record, measured map[string][]containermemory.Usage) []string {
	var names []string
	for _, r := range requests {
		if len(measured[r.Run]) == 0 {
			names = append(names, r.Run)
		}
	}
	return names
}

// requests are what the containers in the seed request, and those of one pod of each DaemonSet in the shoot.
func (c *controlPlaneLab) requests(ctx context.Context) (seed, shoot []Record, err error) {
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.DaemonSetList{}
	if err := c.shoot.Seed.Client.List(ctx, deployments, client.InNamespace(c.shoot.Name)); err != nil {
		return nil, nil, err
	}
	if err := c.shoot.Seed.Client.List(ctx, sets, client.InNamespace(metav1.NamespaceSystem)); err != nil {
		return nil, nil, err
	}
	seed = append(seed,
		requestOf(v1beta1constants.DeploymentNameMachineControllerManager, driverContainer, controlplane.DriverMemory.AsApproximateFloat64()))
	for _, d := range deployments.Items {
		for _, container := range d.Spec.Template.Spec.Containers {
			seed = append(seed, requestOf(d.Name, container.Name, container.Resources.Requests.Memory().AsApproximateFloat64()))
		}
	}
	for _, d := range sets.Items {
		for _, container := range d.Spec.Template.Spec.Containers {
			shoot = append(shoot, requestOf(d.Name, container.Name, container.Resources.Requests.Memory().AsApproximateFloat64()))
		}
	}
	return seed, shoot, nil
}

func requestOf(workload, container string, bytes float64) Record {
	return sample(workload+"/"+container, quantityRequest, bytes/containermemory.MiB)
}

// create lets the extension make the infrastructure, the control plane and the machines, and waits for the machines.
func (c *controlPlaneLab) create(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, controlPlaneTimeout)
	defer cancel()
	infrastructure, err := c.shoot.Infrastructure()
	if err != nil {
		return err
	}
	fmt.Fprintln(c.progress, "  create the infrastructure")
	if err := c.shoot.Create(ctx, infrastructure); err != nil {
		return err
	}
	controlPlane, err := c.shoot.ControlPlaneObject(infrastructure)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.progress, "  create the control plane")
	if err := c.shoot.Create(ctx, controlPlane); err != nil {
		return err
	}
	if err := c.waitProcesses(ctx); err != nil {
		return err
	}
	worker, err := c.shoot.Worker(infrastructure)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.progress, "  create machines")
	if err := c.shoot.Create(ctx, worker); err != nil {
		return err
	}
	return c.waitNodes(ctx)
}

// memoryRequests is the sum of what all containers request. It fails if one requests less than its process had in memory.
func memoryRequests(records []Record) (float64, error) {
	requests, used := map[string]float64{}, map[string][]float64{}
	for _, r := range records {
		switch r.Service {
		case quantityRequest:
			requests[r.Run] = r.Value
		case quantityAnonymous:
			used[r.Run] = append(used[r.Run], r.Value)
		}
	}
	if len(requests) == 0 || len(used) == 0 {
		return 0, fmt.Errorf("the log has the requests of %d containers and the memory of %d", len(requests), len(used))
	}
	var low []string
	for container, values := range used {
		if needed := percentile(values, enough); needed > requests[container] {
			low = append(low, fmt.Sprintf("%s requests %.0f MiB and has %.1f", container, requests[container], needed))
		}
	}
	if len(low) > 0 {
		slices.Sort(low)
		return 0, fmt.Errorf("requests are too low: %s", strings.Join(low, ", "))
	}
	return total(records), nil
}

// total is the sum of the requests in MiB.
func total(records []Record) float64 {
	sum := 0.0
	for _, value := range samplesOf(records, quantityRequest) {
		sum += value
	}
	return sum
}

// percentile is the smallest of the values that so large a part of them does not exceed.
func percentile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(part*float64(len(sorted))))-1, 0)]
}

// uninitialized returns how many nodes are there, and how many of them are not initialized.
func uninitialized(nodes []corev1.Node) (there, waiting int) {
	for i := range nodes {
		if !initialized(&nodes[i]) {
			waiting++
		}
	}
	return len(nodes), waiting
}
