// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package workerplan

import (
	"encoding/json"
	"slices"

	gardenworker "github.com/gardener/gardener/extensions/pkg/controller/worker"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/differences"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/worker"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// comparison compares the machines before and after a reconciliation.
type comparison struct {
	before, after *machines
	// limitsBefore and limitsAfter are what the status of the Worker has about machine deployments, by their names.
	limitsBefore, limitsAfter map[string]extensionsv1alpha1.MachineDeployment
	// unknown is why the names of the machine classes of pools are not known, by pool.
	unknown map[string]string
}

func newComparison(in Input, before, after *machines) *comparison {
	c := &comparison{before: before, after: after,
		limitsBefore: map[string]extensionsv1alpha1.MachineDeployment{}, limitsAfter: map[string]extensionsv1alpha1.MachineDeployment{}}
	if in.Worker != nil {
		for _, m := range in.Worker.Status.MachineDeployments {
			c.limitsBefore[m.Name] = m
		}
	}
	return c
}

// pools returns the plans of all pools: those of the zones, and those of machine deployments that are deleted.
func (c *comparison) pools(zones []worker.Zone) []v1alpha1.PoolPlan {
	var plans []v1alpha1.PoolPlan
	add := func(pool string, zone v1alpha1.ZonePlan) {
		plan := lists.Find(plans, func(p *v1alpha1.PoolPlan) bool { return p.Name == pool })
		if plan == nil {
			plans = append(plans, v1alpha1.PoolPlan{Name: pool})
			plan = &plans[len(plans)-1]
		}
		plan.Zones = append(plan.Zones, zone)
	}
	for i := range zones {
		add(zones[i].Pool, c.zone(&zones[i]))
	}
	for i := range c.before.deployments.Items {
		d := &c.before.deployments.Items[i]
		listed := slices.ContainsFunc(zones, func(z worker.Zone) bool { return z.MachineDeployment == d.Name })
		if !listed && d.DeletionTimestamp == nil {
			add(d.Labels[v1beta1constants.LabelWorkerPool], c.removed(d))
		}
	}
	return plans
}

// zone returns the plan for a zone of the Worker.
func (c *comparison) zone(z *worker.Zone) v1alpha1.ZonePlan {
	var (
		before = c.before.deployment(z.MachineDeployment)
		after  = c.after.deployment(z.MachineDeployment)
		plan   = c.numbers(z.MachineDeployment, before, after)
	)
	plan.Name, plan.Site = z.Name, z.Site
	if z.Err != nil {
		plan.Error = platform.PrintableMessage(z.Err.Error())
	}
	rolls := before != nil && after != nil && classOf(before) != classOf(after)
	if reason := c.unknown[z.Pool]; reason != "" && rolls {
		plan.Notes = append(plan.Notes, reason)
		plan.MachineClass.After, plan.Machines = "", v1alpha1.PlannedMachines{Existing: plan.Machines.Existing}
	}
	switch {
	case z.Err != nil && (before == nil || classOf(before) != z.ClassName):
		plan.Action = v1alpha1.ZoneActionWait
	case before == nil:
		plan.Action = v1alpha1.ZoneActionCreate
	case len(plan.Notes) > 0:
		plan.Action = v1alpha1.ZoneActionUnknown
	case rolls && isInPlace(after):
		plan.Action = v1alpha1.ZoneActionUpdateInPlace
	case rolls:
		plan.Action = v1alpha1.ZoneActionRoll
	case differ(plan.Replicas) || differ(plan.Minimum) || differ(plan.Maximum):
		plan.Action = v1alpha1.ZoneActionScale
	case len(plan.Changes) > 0:
		plan.Action = v1alpha1.ZoneActionUpdate
	default:
		plan.Action = v1alpha1.ZoneActionKeep
	}
	return plan
}

// removed returns the plan for a machine deployment that no pool has.
func (c *comparison) removed(d *machinev1alpha1.MachineDeployment) v1alpha1.ZonePlan {
	plan := c.numbers(d.Name, d, nil)
	plan.Action = v1alpha1.ZoneActionDelete
	plan.Site = d.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
	if class := c.before.class(classOf(d)); class != nil && class.NodeTemplate != nil {
		plan.Name = class.NodeTemplate.Zone
	}
	return plan
}

// numbers returns what can be said of the machine deployment, which is nil where it does not exist.
func (c *comparison) numbers(name string, before, after *machinev1alpha1.MachineDeployment) v1alpha1.ZonePlan {
	plan := v1alpha1.ZonePlan{MachineDeployment: name}
	if limits, ok := c.limitsBefore[name]; ok && before != nil {
		plan.Minimum.Before, plan.Maximum.Before = new(limits.Minimum), new(limits.Maximum)
	}
	if before != nil {
		plan.MachineClass.Before, plan.Replicas.Before = classOf(before), new(before.Spec.Replicas)
	}
	if after != nil {
		limits := c.limitsAfter[name]
		plan.Minimum.After, plan.Maximum.After, plan.Priority = new(limits.Minimum), new(limits.Maximum), limits.Priority
		plan.MachineClass.After, plan.Replicas.After = classOf(after), new(after.Spec.Replicas)
		plan.Strategy = strategyOf(after)
	}
	plan.Machines = c.count(before, after)
	if before != nil && after != nil {
		plan.Changes = append(changes("MachineDeployment", deploymentFields(before), deploymentFields(after)),
			changes("MachineClass", classFields(c.before.class(classOf(before))), classFields(c.after.class(classOf(after))))...)
	}
	return plan
}

// count returns what happens to the machines. Machines of former machine classes are replaced, also by a reconciliation that changes
// nothing.
func (c *comparison) count(before, after *machinev1alpha1.MachineDeployment) v1alpha1.PlannedMachines {
	var existing, current, wanted int32
	if after != nil {
		wanted = after.Spec.Replicas
	}
	for i := range c.before.machines.Items {
		m := &c.before.machines.Items[i]
		if before == nil || m.Labels[gardenworker.LabelKeyMachineDeploymentName] != before.Name || m.DeletionTimestamp != nil {
			continue
		}
		existing++
		if after != nil && m.Spec.Class.Name == classOf(after) {
			current++
		}
	}
	if before != nil && len(c.before.sets.Items)+len(c.before.machines.Items) == 0 { // Manifests need not have the machines.
		existing = before.Spec.Replicas
		if after != nil && classOf(before) == classOf(after) {
			current = existing
		}
	}
	if after != nil && isInPlace(after) {
		return v1alpha1.PlannedMachines{Existing: existing, Created: max(0, wanted-existing), Deleted: max(0, existing-wanted),
			Updated: min(wanted, existing-current)}
	}
	kept := min(current, wanted)
	return v1alpha1.PlannedMachines{Existing: existing, Created: wanted - kept, Deleted: existing - kept}
}

func (m *machines) deployment(name string) *machinev1alpha1.MachineDeployment {
	return lists.Find(m.deployments.Items, func(d *machinev1alpha1.MachineDeployment) bool { return d.Name == name })
}

func (m *machines) class(name string) *machinev1alpha1.MachineClass {
	return lists.Find(m.classes.Items, func(c *machinev1alpha1.MachineClass) bool { return c.Name == name })
}

func classOf(d *machinev1alpha1.MachineDeployment) string {
	return d.Spec.Template.Spec.Class.Name
}

func isInPlace(d *machinev1alpha1.MachineDeployment) bool {
	return d.Spec.Strategy.Type == machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType
}

// differ returns whether the numbers are known and differ.
func differ(n v1alpha1.PlannedNumber) bool {
	return n.Before != nil && n.After != nil && *n.Before != *n.After
}

// strategyOf returns the strategy with absolute numbers, rounded as in machine-controller-manager.
func strategyOf(d *machinev1alpha1.MachineDeployment) *v1alpha1.PlannedStrategy {
	var update machinev1alpha1.UpdateConfiguration
	switch {
	case d.Spec.Strategy.InPlaceUpdate != nil:
		update = d.Spec.Strategy.InPlaceUpdate.UpdateConfiguration
	case d.Spec.Strategy.RollingUpdate != nil:
		update = d.Spec.Strategy.RollingUpdate.UpdateConfiguration
	}
	absolute := func(value *intstr.IntOrString, up bool) int32 {
		number, err := intstr.GetScaledValueFromIntOrPercent(new(ptr.Deref(value, intstr.FromInt32(0))), int(d.Spec.Replicas), up)
		if err != nil {
			return 0
		}
		return int32(number) // #nosec G115 -- a share of the replicas
	}
	return &v1alpha1.PlannedStrategy{Type: string(d.Spec.Strategy.Type), MaxSurge: absolute(update.MaxSurge, true),
		MaxUnavailable: absolute(update.MaxUnavailable, false)}
}

// machineDeploymentFields are the fields of a machine deployment that a reconciliation writes, without the machine class.
type machineDeploymentFields struct {
	Metadata fieldsOfMetadata                      `json:"metadata"`
	Spec     machinev1alpha1.MachineDeploymentSpec `json:"spec"`
}

type fieldsOfMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func deploymentFields(d *machinev1alpha1.MachineDeployment) *machineDeploymentFields {
	fields := &machineDeploymentFields{fieldsOfMetadata{d.Labels, d.Annotations}, *d.Spec.DeepCopy()}
	fields.Spec.Template.Spec.Class = machinev1alpha1.ClassSpec{}
	return fields
}

// machineClassFields are the fields of a machine class that a reconciliation writes, without the names of its objects.
type machineClassFields struct {
	Metadata     fieldsOfMetadata              `json:"metadata"`
	NodeTemplate *machinev1alpha1.NodeTemplate `json:"nodeTemplate,omitempty"`
	ProviderSpec runtime.RawExtension          `json:"providerSpec"`
}

// classFields returns nil if the class is nil.
func classFields(c *machinev1alpha1.MachineClass) *machineClassFields {
	if c == nil {
		return nil
	}
	return &machineClassFields{fieldsOfMetadata{c.Labels, c.Annotations}, c.NodeTemplate, c.ProviderSpec}
}

// changes returns the paths of the fields that differ. There are none if one of the objects is not known.
func changes[T any](kind string, before, after *T) []string {
	if before == nil || after == nil {
		return nil
	}
	b, beforeErr := json.Marshal(before)
	a, afterErr := json.Marshal(after)
	if beforeErr != nil || afterErr != nil {
		return nil
	}
	var paths []string
	for _, d := range differences.Between(b, a) {
		paths = append(paths, kind+" "+d.Path())
	}
	return paths
}
