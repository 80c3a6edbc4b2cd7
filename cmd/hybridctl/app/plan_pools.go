// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/workerplan"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// poolsTimeout limits the requests to all sites, which run in parallel, that resolve the machines of all pools.
const poolsTimeout = time.Minute

// planPools adds to the report what changes in the pools after the sites were reconciled, what sites get for that, and what Services lose.
func planPools(ctx context.Context, input *shootInput, before *extensionscontroller.Cluster, sites *infrastructure.Plan,
	platforms *rehearsal.Rehearsal, report *v1alpha1.PlanReport) error {
	shoot := input.Cluster.Shoot
	if input.Seed == nil && (shoot.UID != "" || shoot.Status.LastOperation != nil) {
		return errors.New("the machines in the seed are not accessible")
	}
	written := map[string]int{}
	for _, s := range report.Sites {
		written[s.Name] = len(platforms.Log.Writes(s.Name))
	}
	plan, err := (&workerplan.Planner{Platforms: platforms.MachineClasses, Timeout: poolsTimeout}).Plan(ctx, workerplan.Input{
		After: input.Cluster, Before: before, Worker: input.Worker, Infrastructure: sites.Infrastructure,
		InfrastructureStatus: sites.Infrastructure.Status.ProviderStatus, Secret: input.Secret, Seed: input.Seed,
	})
	for i := range report.Sites {
		s := &report.Sites[i]
		s.Changes = append(s.Changes, infrastructure.ChangesOf(platforms.Log.Writes(s.Name)[written[s.Name]:], nil, nil)...)
	}
	if plan == nil {
		return err
	}
	report.Pools = plan.Pools
	services, servicesErr := planServices(ctx, input, before, sites, plan)
	report.Services = services
	return errors.Join(err, servicesErr)
}

// planServices returns what changes for Services and volumes of a shoot that has a ControlPlane.
func planServices(ctx context.Context, input *shootInput, before *extensionscontroller.Cluster, sites *infrastructure.Plan,
	plan *workerplan.Plan) ([]v1alpha1.PlannedService, error) {
	if input.Seed == nil || before == nil || input.Cluster.Shoot.DeletionTimestamp != nil {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: input.Cluster.ObjectMeta.Name, Name: input.Cluster.Shoot.Name}
	existing := &extensionsv1alpha1.ControlPlane{}
	if err := input.Seed.Get(ctx, key, existing); err != nil {
		if isMissing(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("ControlPlane: %w", err)
	}
	existing.Spec.SecretRef = corev1.SecretReference{Namespace: key.Namespace, Name: v1beta1constants.SecretNameCloudProvider}
	desired := existing.DeepCopy()
	desired.Spec.ProviderConfig = input.Cluster.Shoot.Spec.Provider.ControlPlaneConfig
	desired.Spec.InfrastructureProviderStatus = sites.Infrastructure.Status.ProviderStatus
	return controlplane.PlanServices(ctx, extension.ControlPlanes(),
		controlplane.Deployment{Reader: plan.Before, ControlPlane: existing, Cluster: before},
		controlplane.Deployment{Reader: plan.After, ControlPlane: desired, Cluster: input.Cluster})
}

// lastReconciled returns what was reconciled last, nil if it is not known.
func lastReconciled(ctx context.Context, input *shootInput) (*extensionscontroller.Cluster, error) {
	if input.Seed == nil {
		return nil, nil
	}
	cluster, err := extensionscontroller.GetCluster(ctx, input.Seed, input.Cluster.ObjectMeta.Name)
	if isMissing(err) {
		return nil, nil
	}
	return cluster, err
}

func anyZone(pools []v1alpha1.PoolPlan, is func(*v1alpha1.ZonePlan) bool) bool {
	return slices.ContainsFunc(pools, func(pool v1alpha1.PoolPlan) bool { return lists.Find(pool.Zones, is) != nil })
}

// zoneSigns are what shows what happens to the machines of a zone in tables.
var zoneSigns = map[v1alpha1.ZoneAction]cell{
	v1alpha1.ZoneActionCreate:        {"+", good},
	v1alpha1.ZoneActionDelete:        {"-", bad},
	v1alpha1.ZoneActionRoll:          {"!", bad},
	v1alpha1.ZoneActionUpdateInPlace: {"!", unsure},
	v1alpha1.ZoneActionScale:         {"~", unsure},
	v1alpha1.ZoneActionUpdate:        {"~", unsure},
	v1alpha1.ZoneActionKeep:          {"=", faint},
	v1alpha1.ZoneActionWait:          {"?", bad},
	v1alpha1.ZoneActionUnknown:       {"?", unsure},
}

func (s *screen) planPools(pools []v1alpha1.PoolPlan) {
	var (
		total v1alpha1.PlannedMachines
		rows  = &table{columns: []string{" ", "POOL", "ZONE", "SITE", "ACTION", "MACHINES", "MINIMUM", "MAXIMUM", "WHY", "+STRATEGY",
			"+MACHINE CLASS", "+CHANGES"}}
	)
	for _, pool := range pools {
		for i := range pool.Zones {
			z := &pool.Zones[i]
			total.Existing, total.Created = total.Existing+z.Machines.Existing, total.Created+z.Machines.Created
			total.Deleted, total.Updated = total.Deleted+z.Machines.Deleted, total.Updated+z.Machines.Updated
			if z.Action == v1alpha1.ZoneActionKeep && !s.wide {
				continue
			}
			rows.add(zoneSigns[z.Action], cell{text: pool.Name}, cell{text: z.Name}, cell{text: z.Site}, cell{text: string(z.Action)},
				cell{text: countsOf(z.Machines)}, cell{text: numberOf(z.Minimum)}, cell{text: numberOf(z.Maximum)}, cell{text: causesOf(z)},
				cell{text: strategyOf(z.Strategy)}, cell{text: fromTo(z.MachineClass.Before, z.MachineClass.After)},
				cell{text: strings.Join(z.Changes, ", ")})
		}
	}
	s.table(rows)
	for _, pool := range pools {
		for i := range pool.Zones {
			z := &pool.Zones[i]
			where := fmt.Sprintf("pool %s, zone %s: ", pool.Name, z.Name)
			for _, note := range z.Notes {
				s.line(0, cell{"note:", unsure}, cell{where + note, plain})
			}
			switch {
			case z.Error != "" && z.Action == v1alpha1.ZoneActionWait:
				s.line(0, cell{"error:", bad}, cell{where + z.Error, plain})
			case z.Error != "":
				s.line(0, cell{"note:", unsure}, cell{where + z.Error, plain})
			}
		}
	}
	if len(pools) > 0 {
		s.line(0, cell{text: fmt.Sprintf("Machines: %d exist, %d to create, %d to delete, %d to update in place.",
			total.Existing, total.Created, total.Deleted, total.Updated)})
	}
}

// countsOf returns the number of machines and what happens to them.
func countsOf(m v1alpha1.PlannedMachines) string {
	parts := []string{fmt.Sprint(m.Existing)}
	for _, part := range []struct {
		sign  string
		count int32
	}{{"+", m.Created}, {"-", m.Deleted}, {"!", m.Updated}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%s%d", part.sign, part.count))
		}
	}
	return strings.Join(parts, " ")
}

func numberOf(n v1alpha1.PlannedNumber) string {
	text := func(number *int32) string {
		if number == nil {
			return ""
		}
		return fmt.Sprint(*number)
	}
	return fromTo(text(n.Before), text(n.After))
}

func fromTo(before, after string) string {
	switch {
	case before == after || before == "":
		return after
	case after == "":
		return before
	default:
		return before + " -> " + after
	}
}

func causesOf(z *v1alpha1.ZonePlan) string {
	return firstOf(z.Causes, func(c v1alpha1.PlanCause) string {
		return fmt.Sprintf("%s %s: %s", c.Kind, c.Field, fromTo(c.Before, c.After))
	})
}

func strategyOf(strategy *v1alpha1.PlannedStrategy) string {
	if strategy == nil {
		return ""
	}
	return fmt.Sprintf("%s, surge %d, unavailable %d", strategy.Type, strategy.MaxSurge, strategy.MaxUnavailable)
}

// planQuotas writes what the pools need of the quotas of sites, unless that does not change and suffices.
func (s *screen) planQuotas(sites []v1alpha1.SitePlan) {
	rows := &table{columns: []string{"SITE", "RESOURCE", "MINIMUM", "MAXIMUM", "AVAILABLE"}}
	for i := range sites {
		for _, q := range sites[i].Quotas {
			available := cell{text: fmt.Sprint(q.Available)}
			switch {
			case q.Minimum.After != nil && *q.Minimum.After > q.Available:
				available.style = bad
			case q.Maximum.After != nil && *q.Maximum.After > q.Available:
				available.style = unsure
			case !s.wide && isSame(q.Minimum) && isSame(q.Maximum):
				continue
			}
			rows.add(cell{text: sites[i].Name}, cell{text: q.Resource}, cell{text: numberOf(q.Minimum)}, cell{text: numberOf(q.Maximum)}, available)
		}
	}
	s.table(rows)
}

func isSame(n v1alpha1.PlannedNumber) bool {
	return n.Before != nil && n.After != nil && *n.Before == *n.After
}

// planServices writes what changes for Services and volumes.
func (s *screen) planServices(services []v1alpha1.PlannedService) {
	rows := &table{columns: []string{" ", "FOR SERVICES AND VOLUMES", "NAME", "FIELDS"}}
	for _, service := range services {
		rows.add(signs[service.Action], cell{text: service.Kind}, cell{text: service.Name},
			cell{text: fieldsOf(v1alpha1.PlannedChange{Action: service.Action, Fields: service.Fields})})
	}
	s.table(rows)
}
