// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// readQuarantines returns since when sites of the shoot are in quarantine, by their names. There are none while the shoot is deleted or
// hibernated: its machines are deleted because a person asked for it.
func (c *call) readQuarantines(ctx context.Context) (map[string]time.Time, error) {
	since := map[string]time.Time{}
	if c.cluster.Shoot.DeletionTimestamp != nil || extensionscontroller.IsHibernationEnabled(c.cluster) {
		return since, nil
	}
	infrastructures := &extensionsv1alpha1.InfrastructureList{}
	if err := c.client.List(ctx, infrastructures, client.InNamespace(c.worker.Namespace)); err != nil {
		return nil, fmt.Errorf("listing Infrastructures: %w", err)
	}
	for i := range infrastructures.Items {
		maps.Copy(since, condition.Quarantines(infrastructures.Items[i].Status.Conditions))
	}
	return since, nil
}

// quarantine is that of a site.
type quarantine struct {
	// until is the time at which it ends in any case, and duration is the time from its start until then.
	until    time.Time
	duration time.Duration
}

// quarantines are the quarantines that are not over, by the names of their sites.
type quarantines map[string]quarantine

func quarantinesOf(profile *v1alpha1.CloudProfileConfig, since map[string]time.Time, now time.Time) quarantines {
	current := quarantines{}
	for site, start := range since {
		duration := condition.QuarantineSettings(profile, site).MaximumDuration.Duration
		if until := start.Add(duration); now.Before(until) {
			current[site] = quarantine{until: until, duration: duration}
		}
	}
	return current
}

// errOf returns why a zone of one of the sites is not reconciled, nil if none of them is in quarantine.
func (q quarantines) errOf(sites ...string) error {
	for _, site := range sites {
		if current, ok := q[site]; ok {
			return platform.InSite(site, platform.NewError(platform.ClassTransient,
				"the site is in quarantine until %s at the latest, its zones are reconciled then", current.until.UTC().Format(time.RFC3339)))
		}
	}
	return nil
}

// keep makes machine-controller-manager and the cluster-autoscaler keep the machines of the deployment if its site is in quarantine.
func (q quarantines) keep(deployment *worker.MachineDeployment) {
	current, ok := q[deployment.Labels[v1alpha1.LabelSite]]
	if !ok {
		return
	}
	deployment.MachineConfiguration.DisableHealthTimeout = new(true)
	maps.Copy(deployment.ClusterAutoscalerAnnotations, machineapi.KeepNodes(current.duration))
}

// keptObjects are the names of the objects of machines on sites in quarantine. The generic actuator must neither wait for these machines,
// which may take as long as the quarantine, nor delete the classes and secrets that they need.
type keptObjects struct {
	deployments, classes, secrets sets.Set[string]
}

// keptObjects reads without a cache, because objects that are not found may be deleted.
func (q quarantines) keptObjects(ctx context.Context, c *call) (keptObjects, error) {
	kept := keptObjects{deployments: sets.New[string](), classes: sets.New[string](), secrets: sets.New[string]()}
	if len(q) == 0 {
		return kept, nil
	}
	objects, err := c.listMachineObjects(ctx)
	if err != nil {
		return kept, err
	}
	add := func(deployment string, spec *machinev1alpha1.MachineSpec) {
		if _, ok := q[spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]]; ok {
			kept.deployments.Insert(deployment)
			kept.classes.Insert(spec.Class.Name)
		}
	}
	for i := range objects.deployments.Items {
		add(objects.deployments.Items[i].Name, &objects.deployments.Items[i].Spec.Template.Spec)
	}
	for i := range objects.machines.Items {
		machine := &objects.machines.Items[i]
		add(machine.Labels[worker.LabelKeyMachineDeploymentName], &machine.Spec)
	}
	for i := range objects.classes.Items {
		if class := &objects.classes.Items[i]; kept.classes.Has(class.Name) && class.SecretRef != nil {
			kept.secrets.Insert(class.SecretRef.Name)
		}
	}
	return kept, nil
}

// has returns whether the object is a class or a secret of a machine on such a site.
func (k keptObjects) has(object client.Object) bool {
	switch object.(type) {
	case *machinev1alpha1.MachineClass:
		return k.classes.Has(object.GetName())
	case *corev1.Secret:
		return k.secrets.Has(object.GetName())
	default:
		return false
	}
}

// hide makes machine deployments look as if all of their machines were updated and available, and deleted ones as if they were gone.
func (k keptObjects) hide(list client.ObjectList) {
	switch list := list.(type) {
	case *machinev1alpha1.MachineDeploymentList:
		list.Items = slices.DeleteFunc(list.Items, func(d machinev1alpha1.MachineDeployment) bool {
			return d.DeletionTimestamp != nil && k.deployments.Has(d.Name)
		})
		for i := range list.Items {
			if d := &list.Items[i]; k.deployments.Has(d.Name) {
				d.Status = machinev1alpha1.MachineDeploymentStatus{
					ObservedGeneration: d.Generation,
					Replicas:           d.Spec.Replicas,
					UpdatedReplicas:    d.Spec.Replicas,
					ReadyReplicas:      d.Spec.Replicas,
					AvailableReplicas:  d.Spec.Replicas,
					Conditions: []machinev1alpha1.MachineDeploymentCondition{
						{Type: machinev1alpha1.MachineDeploymentAvailable, Status: machinev1alpha1.ConditionTrue},
					},
				}
			}
		}
	case *machinev1alpha1.MachineSetList:
		for i := range list.Items {
			if s := &list.Items[i]; k.deployments.Has(s.Labels[worker.LabelKeyMachineDeploymentName]) {
				s.Status.Replicas = 0 // Otherwise, machines that are updated in place by hand were waited for.
			}
		}
	case *machinev1alpha1.MachineList:
		list.Items = slices.DeleteFunc(list.Items, func(m machinev1alpha1.Machine) bool {
			return k.deployments.Has(m.Labels[worker.LabelKeyMachineDeploymentName])
		})
	}
}
