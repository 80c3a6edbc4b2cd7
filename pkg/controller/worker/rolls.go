// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// runningClasses returns the machine classes that machine deployments have, by their names, and those of machines to be restored. It
// reads from the API server: a pool that was missed because a cache is late could be refused for good.
func (d *delegate) runningClasses(ctx context.Context) (map[string]sets.Set[string], error) {
	list := &machinev1alpha1.MachineDeploymentList{}
	if err := d.reader.List(ctx, list, client.InNamespace(d.worker.Namespace)); err != nil {
		return nil, fmt.Errorf("listing machine deployments: %w", err)
	}
	classes := map[string]sets.Set[string]{}
	for name, former := range d.former {
		classes[name] = former.Clone()
	}
	for i := range list.Items {
		deployment := &list.Items[i]
		if deployment.DeletionTimestamp != nil {
			continue
		}
		if classes[deployment.Name] == nil {
			classes[deployment.Name] = sets.New[string]()
		}
		classes[deployment.Name].Insert(deployment.Spec.Template.Spec.Class.Name)
	}
	return classes, nil
}
