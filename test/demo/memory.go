// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/webhook/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/memory"
)

// driverContainer is the container that the webhook adds to the pods of machine-controller-manager.
const driverContainer = "machine-controller-manager-provider-hybrid"

// startSampling samples the memory of the shoot's processes until stopSampling is called.
func (d *demo) startSampling() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { d.sampler.Run(ctx, d.sampled) })
	d.stopSampling = func() {
		cancel()
		group.Wait()
	}
}

// sampled are the processes that a shoot has of its own.
func (d *demo) sampled() []memory.Process {
	processes := []memory.Process{{Deployment: v1beta1constants.DeploymentNameMachineControllerManager, Container: driverContainer,
		PID: d.landscape.Driver.PID()}}
	for _, program := range d.programs {
		if process := d.seed.Process(program.Deployment, program.Container); process != nil {
			processes = append(processes, memory.Process{Deployment: program.Deployment, Container: program.Container, PID: process.PID()})
		}
	}
	return processes
}

// printMemory prints what the shoot's processes had in memory beside what their containers request, and writes it to a file.
func (d *demo) printMemory(ctx context.Context) error {
	requests, err := d.requests(ctx)
	if err != nil {
		return err
	}
	record := &memory.Record{Time: time.Now().UTC(), Sites: siteNames(d.sites), Nodes: d.joins.maximum(), Containers: d.sampler.Containers()}
	var (
		rows        [][]string
		requested   float64
		percentiles float64
	)
	for i := range record.Containers {
		c := &record.Containers[i]
		c.RequestMiB = requests[c.Deployment+"/"+c.Name]
		remark := ""
		if c.RequestsTooLittle() {
			remark = "requests too little"
		}
		requested += c.RequestMiB
		percentiles += c.Anonymous.Percentile95MiB
		rows = append(rows, []string{
			c.Deployment, c.Name, fmt.Sprintf("%4.0f", c.RequestMiB),
			fmt.Sprintf("%5.1f", c.Anonymous.Percentile95MiB), fmt.Sprintf("%5.1f", c.Anonymous.PeakMiB),
			fmt.Sprintf("%5.1f", c.Resident.Percentile95MiB), fmt.Sprintf("%5.1f", c.Resident.PeakMiB), fmt.Sprintf("%4d", c.Samples), remark,
		})
	}
	d.printTable([]string{"DEPLOYMENT", "CONTAINER", "REQUESTS", "P95", "PEAK", "RSS P95", "RSS PEAK", "SAMPLES", ""}, rows)
	d.screen.print(fmt.Sprintf("    in MiB; P95 and PEAK are without pages of files; together they request %.0f and have %.0f "+
		"at the 95th percentile, with up to %d nodes",
		requested, percentiles, record.Nodes))
	path, err := landscape.CacheDir("demo", "memory.json")
	if err != nil {
		return err
	}
	d.screen.print("    written to " + path)
	return record.Write(path)
}

// requests are the memory that the containers request, in MiB, by Deployment and container.
func (d *demo) requests(ctx context.Context) (map[string]float64, error) {
	deployments := &appsv1.DeploymentList{}
	if err := d.landscape.Client.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	result := map[string]float64{
		v1beta1constants.DeploymentNameMachineControllerManager + "/" +
			driverContainer: controlplane.DriverMemory.AsApproximateFloat64() / memory.MiB,
	}
	for _, deployment := range deployments.Items {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			request := container.Resources.Requests[corev1.ResourceMemory]
			result[deployment.Name+"/"+container.Name] = request.AsApproximateFloat64() / memory.MiB
		}
	}
	return result, nil
}
