// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// maxMachineErrors is the maximum number of different errors of machines in a report.
const maxMachineErrors = 10

// seen is what a StatusReport is made of.
type seen struct {
	*shootInput

	// shootIsCurrent is set if the status of the Shoot is current. In a Cluster, it is as old as the last reconciliation.
	shootIsCurrent bool
	controlPlanes  extensionsv1alpha1.ControlPlaneList
	machines       machinev1alpha1.MachineList
	deployments    machinev1alpha1.MachineDeploymentList
}

// read reads the other objects of the shoot in the seed.
func (s *seen) read(ctx context.Context) error {
	if s.Seed == nil {
		return nil
	}
	for _, list := range []client.ObjectList{&s.controlPlanes, &s.machines, &s.deployments} {
		if err := machineapi.IgnoreMissing(s.Seed.List(ctx, list, client.InNamespace(s.Cluster.ObjectMeta.Name))); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

func (s *seen) report() *v1alpha1.StatusReport {
	shoot := s.Cluster.Shoot
	report := &v1alpha1.StatusReport{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "StatusReport"},
		Shoot: v1alpha1.StatusShoot{
			Namespace: shoot.Namespace, Name: shoot.Name, TechnicalID: s.Cluster.ObjectMeta.Name,
			Hibernated: extensionscontroller.IsHibernationEnabled(s.Cluster),
		},
	}
	if s.shootIsCurrent {
		addLastOperation(&report.Shoot, shoot.Status.LastOperation)
		report.Conditions = conditionsOf("Shoot", shoot.Status.Conditions)
		for i := range shoot.Status.LastErrors {
			addLastError(report, "Shoot", &shoot.Status.LastErrors[i])
		}
	} else {
		report.Unknown = append(report.Unknown, "conditions and errors of the Shoot: no kubeconfig of the garden")
	}
	if s.Seed == nil {
		report.Unknown = append(report.Unknown, "conditions and machines of sites: no kubeconfig of the seed")
	}
	if s.Infrastructure != nil {
		addObject(report, extensionsv1alpha1.InfrastructureResource, s.Infrastructure)
	}
	for i := range s.controlPlanes.Items {
		addObject(report, extensionsv1alpha1.ControlPlaneResource, &s.controlPlanes.Items[i])
	}
	if s.Worker != nil {
		addObject(report, extensionsv1alpha1.WorkerResource, s.Worker)
	}
	s.addSites(report)
	s.addMachineErrors(report)
	return report
}

func addLastOperation(shoot *v1alpha1.StatusShoot, last *gardencorev1beta1.LastOperation) {
	if last != nil {
		shoot.LastOperation = fmt.Sprintf("%s %s (%d %%)", last.Type, last.State, last.Progress)
		shoot.LastOperationTime = &last.LastUpdateTime
	}
}

// addObject adds the last error of an object, and its conditions that concern no single site.
func addObject(report *v1alpha1.StatusReport, kind string, object extensionsv1alpha1.Object) {
	report.Conditions = append(report.Conditions, conditionsOf(kind, object.GetExtensionStatus().GetConditions())...)
	if last := object.GetExtensionStatus().GetLastError(); last != nil {
		addLastError(report, kind, last)
	}
}

func addLastError(report *v1alpha1.StatusReport, kind string, last *gardencorev1beta1.LastError) {
	report.Errors = append(report.Errors, v1alpha1.StatusError{Object: kind, Message: platform.PrintableMessage(last.Description),
		Time: last.LastUpdateTime})
}

// conditionsOf returns the conditions that concern no single site.
func conditionsOf(kind string, conditions []gardencorev1beta1.Condition) []v1alpha1.StatusCondition {
	var found []v1alpha1.StatusCondition
	for i := range conditions {
		if _, _, ofSite := strings.Cut(string(conditions[i].Type), siteSeparator); !ofSite {
			found = append(found, conditionOf(kind, string(conditions[i].Type), &conditions[i]))
		}
	}
	return found
}

// siteSeparator separates the type of a condition of an Infrastructure from the name of the site that it concerns.
const siteSeparator = "-"

func conditionOf(kind, conditionType string, c *gardencorev1beta1.Condition) v1alpha1.StatusCondition {
	return v1alpha1.StatusCondition{
		Object: kind, Type: conditionType, Status: string(c.Status), Reason: platform.Printable(c.Reason),
		Message: platform.PrintableMessage(c.Message), Since: c.LastTransitionTime,
	}
}

// addSites adds the sites of the shoot in their order, those that were removed, and those that only machines or conditions name.
func (s *seen) addSites(report *v1alpha1.StatusReport) {
	sites, profile := s.resolve(report)
	add := func(name string) *v1alpha1.StatusSite {
		i := slices.IndexFunc(report.Sites, func(other v1alpha1.StatusSite) bool { return other.Name == name })
		if i < 0 {
			i = len(report.Sites)
			report.Sites = append(report.Sites, v1alpha1.StatusSite{Name: platform.Printable(name)})
		}
		return &report.Sites[i]
	}
	for i := range sites {
		added := add(sites[i].Name)
		added.Platform, added.Removed = sites[i].Platform, sites[i].Removed()
	}
	if s.Infrastructure != nil {
		conditions := s.Infrastructure.Status.Conditions
		for i := range conditions {
			if conditionType, name, ofSite := strings.Cut(string(conditions[i].Type), siteSeparator); ofSite {
				found := add(name)
				found.Conditions = append(found.Conditions, conditionOf("", conditionType, &conditions[i]))
			}
		}
		for name, since := range condition.Quarantines(conditions) {
			maximum := condition.QuarantineSettings(profile, name).MaximumDuration.Duration
			add(name).QuarantinedUntil = &metav1.Time{Time: since.Add(maximum)}
		}
	}
	for name, pools := range s.pools() {
		add(name).Pools = pools
	}
	for i := range report.Sites {
		if maximum := maximumOf(site.Find(sites, report.Sites[i].Name)); s.Seed != nil && maximum != nil {
			report.Sites[i].Room = append(report.Sites[i].Room, v1alpha1.StatusRoom{Resource: resourceMachines,
				Free: max(0, int64(*maximum-machinesOf(&report.Sites[i]))), Total: int64(*maximum)})
		}
	}
}

// resourceMachines is the resource for the maximum of a site's machines.
const resourceMachines = "machines"

func maximumOf(s *site.Site) *int32 {
	if s == nil {
		return nil
	}
	return helper.MaximumMachines(s.Profile, s.Config)
}

// resolve returns the sites without credentials, and the configuration in the CloudProfile. What cannot be resolved is missing.
func (s *seen) resolve(report *v1alpha1.StatusReport) ([]site.Site, *v1alpha1.CloudProfileConfig) {
	source := shootsites.OfShoot(s.Cluster.ObjectMeta.Name, corev1.SecretReference{}, s.Cluster)
	if s.Infrastructure != nil {
		source = shootsites.OfInfrastructure(s.Infrastructure)
	}
	input, configErr := shootsites.Configured(source, s.Cluster)
	var stateErr error
	input.State, stateErr = shootsites.DecodeOptional[v1alpha1.InfrastructureState]("state of the Infrastructure", source.State)
	sites, err := site.Resolve(input)
	if err := errors.Join(configErr, stateErr, err); err != nil {
		report.Unknown = append(report.Unknown, "sites: "+platform.PrintableMessage(err.Error()))
	}
	return sites, input.Profile
}

// pools returns the machines of pools, sorted, by the names of the sites. Objects without a site belong to other providers.
func (s *seen) pools() map[string][]v1alpha1.StatusPool {
	pools := map[string][]v1alpha1.StatusPool{}
	of := func(labels map[string]string) *v1alpha1.StatusPool {
		name, pool := labels[v1alpha1.LabelSite], labels[v1beta1constants.LabelWorkerPool]
		if name == "" {
			return &v1alpha1.StatusPool{}
		}
		i := slices.IndexFunc(pools[name], func(other v1alpha1.StatusPool) bool { return other.Name == pool })
		if i < 0 {
			i = len(pools[name])
			pools[name] = append(pools[name], v1alpha1.StatusPool{Name: pool, Phases: map[string]int32{}})
		}
		return &pools[name][i]
	}
	for i := range s.deployments.Items {
		of(s.deployments.Items[i].Spec.Template.Spec.NodeTemplateSpec.Labels).Wanted += s.deployments.Items[i].Spec.Replicas
	}
	births := map[[2]string][]platform.BirthProfile{}
	for i := range s.machines.Items {
		machine := &s.machines.Items[i]
		labels := machine.Spec.NodeTemplateSpec.Labels
		if pool := of(labels); pool.Phases != nil {
			pool.Phases[sitehealth.PhaseOf(machine)]++
			key := [2]string{labels[v1alpha1.LabelSite], pool.Name}
			if birth := platform.ParseBirthProfile(machine.Annotations[v1alpha1.AnnotationBirthProfile]); len(birth) > 0 {
				births[key] = append(births[key], birth)
			}
		}
	}
	for name, found := range pools {
		for i := range found {
			found[i].Births = birthsOf(births[[2]string{name, found[i].Name}])
		}
		slices.SortFunc(found, func(a, b v1alpha1.StatusPool) int { return cmp.Compare(a.Name, b.Name) })
	}
	return pools
}

// birthsOf returns the medians of the profiles, nil if there are none. Of an even number it is the longer one of the two in the middle.
func birthsOf(profiles []platform.BirthProfile) *v1alpha1.StatusBirths {
	if len(profiles) == 0 {
		return nil
	}
	births := &v1alpha1.StatusBirths{Machines: int64(len(profiles)), Seconds: map[string]int64{}}
	for _, phase := range platform.BirthPhases {
		var durations []time.Duration
		for _, profile := range profiles {
			if after, ok := profile[phase]; ok {
				durations = append(durations, after)
			}
		}
		if len(durations) > 0 {
			slices.Sort(durations)
			births.Seconds[string(phase)] = int64(durations[len(durations)/2] / time.Second)
		}
	}
	return births
}

// machinesOf returns the number of machines on a site.
func machinesOf(s *v1alpha1.StatusSite) int32 {
	var count int32
	for _, pool := range s.Pools {
		for _, machines := range pool.Phases {
			count += machines
		}
	}
	return count
}

// addMachineErrors adds the errors of machines, those of most machines first.
func (s *seen) addMachineErrors(report *v1alpha1.StatusReport) {
	byMessage := map[string]*v1alpha1.StatusError{}
	for i := range s.machines.Items {
		machine := &s.machines.Items[i]
		last := &machine.Status.LastOperation
		if last.State != machinev1alpha1.MachineStateFailed || errorcodes.IsProgress(last.Description) {
			continue
		}
		message := platform.PrintableMessage(last.Description)
		if err := errorcodes.OfMachine(last.Description); err != nil {
			message = platform.PrintableMessage(err.Error())
		}
		known := byMessage[message]
		if known == nil {
			known = &v1alpha1.StatusError{Object: "Machine " + machine.Name, Message: message, Time: &last.LastUpdateTime}
			byMessage[message] = known
		}
		known.Machines++
		if known.Time.Before(&last.LastUpdateTime) {
			known.Time = &last.LastUpdateTime
		}
	}
	messages := slices.SortedFunc(maps.Keys(byMessage), func(a, b string) int {
		return cmp.Or(cmp.Compare(byMessage[b].Machines, byMessage[a].Machines), cmp.Compare(a, b))
	})
	for i, message := range messages {
		if i == maxMachineErrors {
			report.Unknown = append(report.Unknown, fmt.Sprintf("%d more errors of machines: there are too many", len(messages)-i))
			break
		}
		report.Errors = append(report.Errors, *byMessage[message])
	}
}
