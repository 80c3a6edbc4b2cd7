// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// poolMachines returns the machines of a pool by name.
func (d *demo) poolMachines(ctx context.Context, pool string) (map[string]machinev1alpha1.Machine, error) {
	list := &machinev1alpha1.MachineList{}
	if err := d.landscape.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	machines := map[string]machinev1alpha1.Machine{}
	for _, m := range list.Items {
		if m.Spec.NodeTemplateSpec.Labels[poolLabel] == pool {
			machines[m.Name] = m
		}
	}
	return machines, nil
}

// waitMachines waits until a pool has exactly size machines, none of them in old, all of them running on active servers
// with ready nodes, and no other servers are there.
func (d *demo) waitMachines(ctx context.Context, pool string, size int32, old map[string]machinev1alpha1.Machine) error {
	return d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		machines, err := d.poolMachines(ctx, pool)
		if err != nil {
			return false, err.Error(), nil
		}
		running := int32(0)
		for name, m := range machines {
			if _, ok := old[name]; ok {
				return false, fmt.Sprintf("machine %s is to be replaced", name), nil
			}
			if m.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning {
				running++
			}
		}
		if running != size || len(machines) != int(size) {
			return false, fmt.Sprintf("pool %s: %d machines, %d running, %d wanted", pool, len(machines), running, size), nil
		}
		missing := d.compare(ctx)
		return missing == "", missing, nil
	})
}

// poolImages returns the images of the servers of machines.
func (d *demo) poolImages(ctx context.Context, machines map[string]machinev1alpha1.Machine) (sets.Set[string], error) {
	servers, err := d.servers(ctx)
	if err != nil {
		return nil, err
	}
	images := sets.New[string]()
	for _, m := range machines {
		images.Insert(servers[path.Base(m.Spec.ProviderID)].image)
	}
	return images, nil
}

// compare says what differs between the machines, the nodes and the servers; nothing if they agree.
func (d *demo) compare(ctx context.Context) string {
	machines, nodes := &machinev1alpha1.MachineList{}, &corev1.NodeList{}
	if err := d.landscape.Client.List(ctx, machines, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	if err := d.landscape.Client.List(ctx, nodes); err != nil {
		return err.Error()
	}
	servers, err := d.servers(ctx)
	if err != nil {
		return err.Error()
	}
	for _, m := range machines.Items {
		if server := servers[path.Base(m.Spec.ProviderID)]; !server.active {
			return fmt.Sprintf("the server of machine %s is %q", m.Name, server.status)
		}
	}
	for i := range nodes.Items {
		if missing := notInitialised(&nodes.Items[i]); missing != "" {
			return missing
		}
	}
	if len(nodes.Items) != len(machines.Items) || len(servers) != len(machines.Items) {
		return fmt.Sprintf("%d machines, but %d nodes and %d servers", len(machines.Items), len(nodes.Items), len(servers))
	}
	return ""
}
