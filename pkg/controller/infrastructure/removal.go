// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// ConditionRemovedSitesDeleted is the type of the condition that an Infrastructure has, with status False, while sites that
// the shoot does not use any more wait for the end of their machines.
const ConditionRemovedSitesDeleted gardencorev1beta1.ConditionType = "RemovedSitesDeleted"

// removals deletes the sites that the shoot does not use any more, as soon as they have no machines. Until then it succeeds:
// after an error Gardener would not come to the Worker, which ends the machines.
type removals struct {
	*actuator

	infra   *extensionsv1alpha1.Infrastructure
	cluster *extensionscontroller.Cluster
	profile *v1alpha1.CloudProfileConfig
	// moving is true while machines may have no objects because the control plane moves to another seed.
	moving bool

	mutex   sync.Mutex
	waiting []string
}

// moves reports whether the control plane moves to another seed. Until that is done, machines may have no objects.
func moves(cluster *extensionscontroller.Cluster) bool {
	if cluster.Shoot == nil || cluster.Shoot.Status.LastOperation == nil {
		return false
	}
	operation := cluster.Shoot.Status.LastOperation
	return operation.Type == gardencorev1beta1.LastOperationTypeMigrate ||
		operation.Type == gardencorev1beta1.LastOperationTypeRestore && operation.State != gardencorev1beta1.LastOperationStateSucceeded
}

// remove deletes the site if nothing uses it. A pool of the Shoot that has one of its zones is an error.
func (r *removals) remove(ctx context.Context, s *site.Site, writer *statusWriter) error {
	if pools := r.poolsOn(s.Name); len(pools) > 0 {
		return platform.NewError(platform.ClassConfiguration, "%s: the site has zones of pools %q; it can be removed when no pool uses it", configPath.Child("sites"), pools)
	}
	if r.moving {
		r.wait("site %q is deleted after the control plane has moved", s.Name)
		return nil
	}
	machines, err := r.machinesOn(ctx, s.Name)
	if err != nil {
		return err
	}
	if len(machines) > 0 {
		r.wait("site %q is deleted when it has no machines any more; it has %s", s.Name, eventnote.List(machines))
		return nil
	}
	if err := r.deleteSite(ctx, s, writer); err != nil {
		return err
	}
	r.events.Tell(r.infra, reasonSiteDeleted, eventnote.OnSite(actionDelete, s.Name), "site %q is deleted", s.Name)
	return nil
}

func (r *removals) wait(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.waiting = append(r.waiting, fmt.Sprintf(format, args...))
}

// poolsOn returns the pools of the Shoot that have a zone of the site.
func (r *removals) poolsOn(name string) []string {
	if r.cluster.Shoot == nil {
		return nil
	}
	var pools []string
	for _, pool := range r.cluster.Shoot.Spec.Provider.Workers {
		if slices.ContainsFunc(pool.Zones, func(zone string) bool {
			s, _ := helper.FindZone(r.profile, r.infra.Spec.Region, zone)
			return s != nil && s.Name == name
		}) {
			pools = append(pools, pool.Name)
		}
	}
	return pools
}

// machinesOn returns the machine deployments and machines of the site. It asks the API server: what a cache does not have yet
// would lose its network.
func (r *removals) machinesOn(ctx context.Context, name string) ([]string, error) {
	var (
		deployments = &machinev1alpha1.MachineDeploymentList{}
		machines    = &machinev1alpha1.MachineList{}
		inNamespace = client.InNamespace(r.infra.Namespace)
		found       []string
	)
	if err := errors.Join(r.reader.List(ctx, deployments, inNamespace), r.reader.List(ctx, machines, inNamespace)); err != nil {
		return nil, fmt.Errorf("looking for machines of the site: %w", err)
	}
	for i := range deployments.Items {
		if siteOfMachine(&deployments.Items[i]) == name {
			found = append(found, "machine deployment "+deployments.Items[i].Name)
		}
	}
	for i := range machines.Items {
		if siteOfMachine(&machines.Items[i]) == name {
			found = append(found, "machine "+machines.Items[i].Name)
		}
	}
	return found, nil
}

// siteOfMachine returns the site that a machine, or those of a machine deployment, come from.
func siteOfMachine(object client.Object) string {
	switch object := object.(type) {
	case *machinev1alpha1.Machine:
		return object.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
	case *machinev1alpha1.MachineDeployment:
		return object.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
	default:
		return ""
	}
}

// report tells which sites wait, by condition and event.
func (r *removals) report(ctx context.Context, writer *statusWriter) error {
	if len(r.waiting) == 0 {
		return writer.writeCondition(ctx, ConditionRemovedSitesDeleted, nil)
	}
	slices.Sort(r.waiting)
	message := strings.Join(r.waiting, "; ")
	r.events.Tell(r.infra, reasonSiteInUse, actionDelete, "%s", message)
	condition := v1beta1helper.GetOrInitConditionWithClock(r.clock, r.infra.Status.Conditions, ConditionRemovedSitesDeleted)
	condition = v1beta1helper.UpdatedConditionWithClock(r.clock, condition, gardencorev1beta1.ConditionFalse, "MachinesLeft", message)
	return writer.writeCondition(ctx, ConditionRemovedSitesDeleted, &condition)
}
