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

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// removals deletes the sites that were removed from the shoot once they have no machines. Waiting is not an error: gardenlet would not
// reconcile the Worker, which deletes the machines, and manages those of the other sites, too.
type removals struct {
	*actuator

	infra   *extensionsv1alpha1.Infrastructure
	cluster *extensionscontroller.Cluster
	profile *v1alpha1.CloudProfileConfig
	writer  *statusWriter
	// migrating is true while machines may have no objects because of a control plane migration.
	migrating bool

	waiting, failed errorList
}

// isMigrating returns whether the control plane is being migrated to another seed.
func isMigrating(cluster *extensionscontroller.Cluster) bool {
	if cluster.Shoot == nil || cluster.Shoot.Status.LastOperation == nil {
		return false
	}
	operation := cluster.Shoot.Status.LastOperation
	return operation.Type == gardencorev1beta1.LastOperationTypeMigrate ||
		operation.Type == gardencorev1beta1.LastOperationTypeRestore && operation.State != gardencorev1beta1.LastOperationStateSucceeded
}

// remove deletes the site once it is unused. It returns an error if a pool has one of its zones, but not if the deletion fails: that may
// last forever, and does not affect other sites.
func (r *removals) remove(ctx context.Context, log logr.Logger, s *site.Site) error {
	if pools := r.poolsOn(s.Name); len(pools) > 0 {
		return platform.NewError(platform.ClassConfiguration, "%s: the site has zones of pools %q; it can be removed when no pool uses it",
			configPath.Child("sites"), pools)
	}
	if r.migrating {
		r.waiting.add(s.Name, fmt.Errorf("site %q will be deleted after the control plane migration", s.Name))
		return nil
	}
	machines, err := r.machinesOn(ctx, s.Name)
	if err != nil {
		return err
	}
	if len(machines) > 0 {
		r.waiting.add(s.Name, fmt.Errorf("site %q will be deleted once it has no machines; it has %s", s.Name, eventnote.List(machines)))
		return nil
	}
	if err := r.deleteSite(ctx, s, r.writer); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return err
		}
		err = platform.InSite(s.Name, err)
		r.failed.add(s.Name, err)
		log.Error(err, "Removed site could not be deleted, retrying", "site", s.Name, "class", platform.ClassOf(err))
		r.events.Warning(r.infra, reasonSiteFailed, eventnote.OnSite(actionDelete, s.Name),
			"a removed site could not be deleted, retrying: %v", err)
		return nil
	}
	r.events.Normal(r.infra, reasonSiteDeleted, eventnote.OnSite(actionDelete, s.Name), "site %q is deleted", s.Name)
	return nil
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

// machinesOn returns the machine deployments and machines of the site. It reads without a cache: machines missing in a stale cache would
// lose their network.
func (r *removals) machinesOn(ctx context.Context, name string) ([]string, error) {
	var (
		deployments = &machinev1alpha1.MachineDeploymentList{}
		machines    = &machinev1alpha1.MachineList{}
		inNamespace = client.InNamespace(r.infra.Namespace)
		found       []string
	)
	if err := errors.Join(r.reader.List(ctx, deployments, inNamespace), r.reader.List(ctx, machines, inNamespace)); err != nil {
		return nil, fmt.Errorf("listing machines of the site: %w", err)
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

// siteOfMachine returns the site of a machine, or of the machines of a machine deployment.
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

// report writes an event about sites that are waited for, and a condition about these and about those that could not be deleted.
func (r *removals) report(ctx context.Context) error {
	waiting := r.waiting.messages()
	if len(waiting) > 0 {
		r.events.Normal(r.infra, reasonSiteInUse, actionDelete, "%s", strings.Join(waiting, "; "))
	}
	reason := v1alpha1.ReasonMachinesLeft
	if len(r.failed.bySite) > 0 {
		reason = v1alpha1.ReasonDeletionFailed
	}
	return condition.Write(ctx, r.client, r.clock, r.writer.infra, v1alpha1.ConditionRemovedSitesDeleted, reason,
		append(r.failed.messages(), waiting...), r.failed.errs())
}
