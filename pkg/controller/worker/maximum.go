// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	"github.com/gardener/gardener/pkg/utils/flow"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// writeMaximums writes the maximum number of machines of each site to all of its machine classes. Those that only former machines or
// unresolved zones use are not applied, but machine-controller-manager may create machines of them, too. Sites that are not known are left
// as they are.
func writeMaximums(ctx context.Context, c *call, sites []site.Site) error {
	classes := &machinev1alpha1.MachineClassList{}
	if err := c.list(ctx, classes); err != nil {
		return err
	}
	var tasks []flow.TaskFn
	for i := range classes.Items {
		class := &classes.Items[i]
		index := slices.IndexFunc(sites, func(s site.Site) bool { return s.Name == class.Labels[v1alpha1.LabelSite] })
		if index < 0 {
			continue
		}
		patch := client.MergeFrom(class.DeepCopy())
		if !setMaximum(class, helper.MaximumMachines(sites[index].Profile, sites[index].Config)) {
			continue
		}
		tasks = append(tasks, func(ctx context.Context) error {
			if err := client.IgnoreNotFound(c.client.Patch(ctx, class, patch)); err != nil {
				return fmt.Errorf("writing the maximum of machines to machine class %s: %w", class.Name, err)
			}
			return nil
		})
	}
	return flow.ParallelN(genericactuator.MaxConcurrentMachineTasks, tasks...)(ctx)
}

// setMaximum sets the annotation, or removes it if there is no maximum. It returns whether the class has changed.
func setMaximum(class *machinev1alpha1.MachineClass, maximum *int32) bool {
	before, ok := class.Annotations[v1alpha1.AnnotationMaximumMachines]
	if maximum == nil {
		delete(class.Annotations, v1alpha1.AnnotationMaximumMachines)
		return ok
	}
	value := strconv.Itoa(int(*maximum))
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, v1alpha1.AnnotationMaximumMachines, value)
	return value != before
}
