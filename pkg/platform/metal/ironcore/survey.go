// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"cmp"
	"context"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// processorCPU is the type of processors that are CPUs, also if it is empty.
const processorCPU = "CPU"

// Survey implements inventory.Inventory.
func (i *Inventory) Survey(ctx context.Context, cleaning string) ([]inventory.Surveyed, error) {
	list := &metalv1alpha1.ServerList{}
	if err := i.Client().List(ctx, list, client.UnsafeDisableDeepCopy, kubernetes.Stripped(stripButProcessors)); err != nil {
		return nil, kubernetes.Classify(err)
	}
	selection := &inventory.Selection{Cleaning: cleaning}
	return lists.Map(list.Items, func(server metalv1alpha1.Server) inventory.Surveyed {
		surveyed := inventory.Surveyed{Name: server.Name, Labels: server.Labels, Free: obstacleTo(&server, selection) == obstacleNone,
			Tainted: !tolerates(server.Spec.Taints, selection)}
		if memory := server.Status.TotalSystemMemory; memory != nil {
			surveyed.Memory = memory.Value()
		}
		for _, processor := range server.Status.Processors {
			if processor.Type == processorCPU || processor.Type == "" {
				surveyed.CPUs += int64(max(processor.TotalThreads, processor.TotalCores))
				surveyed.Architecture = cmp.Or(processor.InstructionSet, processor.Architecture)
			}
		}
		return surveyed
	}), nil
}

// stripButProcessors is strip, but keeps the processors.
func stripButProcessors(object any) (any, error) {
	server, ok := object.(*metalv1alpha1.Server)
	if !ok {
		return strip(object)
	}
	processors := server.Status.Processors
	_, err := strip(server)
	server.Status.Processors = processors
	return server, err
}
