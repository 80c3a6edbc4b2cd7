// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/scaler"
)

const (
	// burst is the pool with priorities: it takes hosts first, and servers in the cloud when no host is free.
	burst = "burst"
	// burstPods are the pods that wait for nodes of the pool, each for one of its own. Two have no host.
	burstPods = largeHosts + 2
)

// fill lets pods wait for nodes of the pool burst until each has one. Without the cloud, some go on waiting.
func (d *demo) fill(ctx context.Context) error {
	size := int32(burstPods)
	if !d.selection.keeps(racks) && !d.selection.keeps(cloud) {
		return fmt.Errorf("pool %s is %w: none of its sites is in the shoot", burst, errLeftOut)
	} else if !d.selection.keeps(cloud) {
		size = largeHosts
	}
	scaling, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	s := d.scaler()
	s.SetPods(scaler.Pods{Count: burstPods, NodeSelector: map[string]string{poolLabel: burst}})
	group.Go(func() { s.Run(scaling) })
	defer group.Wait()
	defer end()
	if err := d.waitMachines(ctx, burst, size, nil); err != nil {
		return err
	}
	return d.printNodes(ctx)
}

// drain removes all machines of the pool burst, as if its pods had ended, and does not wait.
func (d *demo) drain(ctx context.Context) error {
	machines, err := d.poolMachines(ctx, burst)
	if err != nil {
		return err
	}
	return d.scaler().Remove(ctx, slices.Collect(maps.Keys(machines))...)
}

// scaler plays the cluster-autoscaler.
func (d *demo) scaler() *scaler.Scaler {
	return &scaler.Scaler{
		Seed: d.landscape.Client, Worker: client.ObjectKey{Namespace: namespace, Name: d.example.object},
		Report: func(line string) { d.screen.print("    cluster-autoscaler: " + line) },
	}
}
