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
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// removals deletes the sites that the shoot does not use any more, as soon as they have no machines. Until that is done it succeeds:
// after an error Gardener would not come to the Worker, which ends the machines, those of the other sites, too.
type removals struct {
	*actuator

	infra   *extensionsv1alpha1.Infrastructure
	cluster *extensionscontroller.Cluster
	profile *v1alpha1.CloudProfileConfig
	// moving is true while machines may have no objects because the control plane moves to another seed.
	moving bool

	mutex   sync.Mutex
	waiting []string
	failed  problems
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

// remove deletes the site if nothing uses it. A pool of the Shoot that has one of its zones is an error. A site that cannot be deleted
// is not: that may last for ever, and nothing but its own objects depends on it.
func (r *removals) remove(ctx context.Context, log logr.Logger, s *site.Site, writer *statusWriter) error {
	if pools := r.poolsOn(s.Name); len(pools) > 0 {
		return platform.NewError(platform.ClassConfiguration, "%s: the site has zones of pools %q; it can be removed when no pool uses it",
			configPath.Child("sites"), pools)
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
		if errors.Is(ctx.Err(), context.Canceled) {
			return err
		}
		err = platform.InSite(s.Name, err)
		r.failed.add(err)
		log.Error(err, "The removed site is not deleted; that is tried again", "site", s.Name, "class", platform.ClassOf(err))
		r.events.Warning(r.infra, reasonSiteFailed, eventnote.OnSite(actionDelete, s.Name),
			"a removed site is not deleted; that is tried again: %v", err)
		return nil
	}
	r.events.Normal(r.infra, reasonSiteDeleted, eventnote.OnSite(actionDelete, s.Name), "site %q is deleted", s.Name)
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

// report tells which sites wait and which cannot be deleted, by condition and event.
func (r *removals) report(ctx context.Context, writer *statusWriter) error {
	slices.Sort(r.waiting)
	if len(r.waiting) > 0 {
		r.events.Normal(r.infra, reasonSiteInUse, actionDelete, "%s", strings.Join(r.waiting, "; "))
	}
	reason := v1alpha1.ReasonMachinesLeft
	if len(r.failed.errs) > 0 {
		reason = v1alpha1.ReasonDeletionFailed
	}
	return writer.writeCondition(ctx, r.clock, v1alpha1.ConditionRemovedSitesDeleted, reason, append(r.failed.messages(), r.waiting...),
		r.failed.errs)
}
