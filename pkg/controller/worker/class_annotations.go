// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
	"github.com/gardener/gardener/pkg/utils/flow"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// annotateMachineClasses writes to all machine classes of a site what the driver needs to know in addition to the provider spec: the
// maximum number of machines, and the end of a quarantine, which the quarantine controller writes, too. Classes that only former machines
// or unresolved zones use are not applied, but machine-controller-manager may create or delete machines of them. The maximum of a site
// that is not known stays as it is.
func annotateMachineClasses(ctx context.Context, c *call, sites []site.Site, current quarantines) error {
	classes := &machinev1alpha1.MachineClassList{}
	if err := c.list(ctx, classes); err != nil {
		return err
	}
	var tasks []flow.TaskFn
	for i := range classes.Items {
		class := &classes.Items[i]
		before, name := class.DeepCopy(), class.Labels[v1alpha1.LabelSite]
		if at := slices.IndexFunc(sites, func(s site.Site) bool { return s.Name == name }); at >= 0 {
			value := ""
			if maximum := helper.MaximumMachines(sites[at].Profile, sites[at].Config); maximum != nil {
				value = strconv.Itoa(int(*maximum))
			}
			annotate(class, v1alpha1.AnnotationMaximumMachines, value)
		}
		until := ""
		if q, ok := current[name]; ok {
			until = q.until.UTC().Format(time.RFC3339)
		}
		annotate(class, v1alpha1.AnnotationQuarantinedUntil, until)
		if equality.Semantic.DeepEqual(before, class) {
			continue
		}
		tasks = append(tasks, func(ctx context.Context) error {
			if err := client.IgnoreNotFound(c.client.Patch(ctx, class, client.MergeFrom(before))); err != nil {
				return fmt.Errorf("annotating machine class %s: %w", class.Name, err)
			}
			return nil
		})
	}
	return flow.ParallelN(genericactuator.MaxConcurrentMachineTasks, tasks...)(ctx)
}

// annotate sets the annotation, or removes it if the value is empty.
func annotate(class *machinev1alpha1.MachineClass, name, value string) {
	if value == "" {
		delete(class.Annotations, name)
		return
	}
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, name, value)
}
