// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// room are the names of the metrics of a resource: how much there may be, and how much of that is used or free. Each has one unit.
type room struct {
	// Most is the name of the metric with the limit of a quota, or with a capacity.
	Most string
	// Part is the name of the metric with what is used of a quota, or free of a capacity.
	Part string
}

var (
	// QuotaMetrics are the metrics of quotas.
	QuotaMetrics = map[platform.Resource]room{
		platform.ResourceServers: {"hybrid_site_quota_servers_limit", "hybrid_site_quota_servers_used"},
		platform.ResourceCores:   {"hybrid_site_quota_cores_limit", "hybrid_site_quota_cores_used"},
		platform.ResourceMemory:  {"hybrid_site_quota_memory_limit_bytes", "hybrid_site_quota_memory_used_bytes"},
	}
	// CapacityMetrics are the metrics of the capacity of zones.
	CapacityMetrics = map[platform.Resource]room{
		platform.ResourceCPU:     {"hybrid_site_cpu_capacity_hertz", "hybrid_site_cpu_free_hertz"},
		platform.ResourceMemory:  {"hybrid_site_memory_capacity_bytes", "hybrid_site_memory_free_bytes"},
		platform.ResourceStorage: {"hybrid_site_storage_capacity_bytes", "hybrid_site_storage_free_bytes"},
	}
)

// roomDescriptions are the descriptions of metrics about the room of sites by their names.
var roomDescriptions = map[string]*prometheus.Desc{}

func init() {
	for resource, names := range QuotaMetrics {
		describeRoom(names.Most, "Limit of the quota of "+resource.Noun()+" of the account of a shoot on a site.")
		describeRoom(names.Part, "Used part of the quota of "+resource.Noun()+" of the account of a shoot on a site.")
	}
	for resource, names := range CapacityMetrics {
		describeRoom(names.Most, "Capacity of "+resource.Noun()+" of a zone of a site for all who use it.", "zone")
		describeRoom(names.Part, "Free part of the capacity of "+resource.Noun()+" of a zone of a site.", "zone")
	}
}

func describeRoom(name, help string, labels ...string) {
	roomDescriptions[name] = prometheus.NewDesc(name, help, append([]string{"shoot_namespace", "site"}, labels...), nil)
}

var (
	siteAvailable = prometheus.NewDesc("hybrid_site_available",
		"1 if a site answers a shoot and accepts its credentials and configuration, 0 if not.", []string{"shoot_namespace", "site"}, nil)
	siteUnavailable = prometheus.NewDesc("hybrid_site_unavailable_reason",
		"1 for the reason why a site is not available to a shoot.", []string{"shoot_namespace", "site", "reason"}, nil)
	faultyMachines = prometheus.NewDesc("hybrid_machines_faulty",
		"Machines of a shoot on a site that something is wrong with.", []string{"shoot_namespace", "site"}, nil)
	watchedSites = prometheus.NewDesc("hybrid_site_watched",
		"1 if the machines of a shoot on a site are watched for faults, 0 if the site cannot be watched.", []string{"shoot_namespace",
			"site"}, nil)
)

// Describe implements prometheus.Collector.
func (p *probers) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- siteAvailable
	descriptions <- siteUnavailable
	descriptions <- faultyMachines
	descriptions <- watchedSites
	for _, description := range roomDescriptions {
		descriptions <- description
	}
}

// profileDifferences counts drift alone, so that every other value than zero needs attention.
var profileDifferences = prometheus.NewDesc("hybrid_cloudprofile_differences",
	"Differences between the CloudProfile of a shoot and what a site offers that should be removed.", []string{"shoot_namespace", "site",
		"state"}, nil)

// Describe implements prometheus.Collector.
func (i *inspectors) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- profileDifferences
}

// Collect implements prometheus.Collector.
func (i *inspectors) Collect(metrics chan<- prometheus.Metric) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for infra, keys := range i.shoots {
		for name, key := range keys {
			if !i.inspectors[key].compared {
				continue
			}
			counts := map[v1alpha1.DifferenceState]float64{v1alpha1.DifferenceMissing: 0, v1alpha1.DifferenceChanged: 0,
				v1alpha1.DifferenceDeprecated: 0}
			for _, difference := range i.inspectors[key].differences {
				if difference.Drift {
					counts[difference.State]++
				}
			}
			for state, count := range counts {
				metrics <- prometheus.MustNewConstMetric(profileDifferences, prometheus.GaugeValue, count, infra.Namespace, name, string(state))
			}
		}
	}
}

// Collect implements prometheus.Collector.
func (p *probers) Collect(metrics chan<- prometheus.Metric) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for infra, shoot := range p.shoots {
		for name, key := range shoot.keys {
			last, ok := p.probers[key].last()
			if !ok {
				continue
			}
			usable := isUsable(last.err)
			metrics <- prometheus.MustNewConstMetric(siteAvailable, prometheus.GaugeValue, boolean(usable), infra.Namespace, name)
			if !usable {
				metrics <- prometheus.MustNewConstMetric(siteUnavailable, prometheus.GaugeValue, 1, infra.Namespace, name, reasonOf(last.err))
			}
			collectRoom(metrics, infra.Namespace, name, last.observed)
			if faults, ok := shoot.faults[name]; ok {
				metrics <- prometheus.MustNewConstMetric(faultyMachines, prometheus.GaugeValue, float64(len(faults)), infra.Namespace, name)
				metrics <- prometheus.MustNewConstMetric(watchedSites, prometheus.GaugeValue, boolean(last.err == nil), infra.Namespace, name)
			}
		}
	}
}

func collectRoom(metrics chan<- prometheus.Metric, namespace, name string, observed platform.Observation) {
	gauge := func(metric string, value float64, zone ...string) {
		if description, ok := roomDescriptions[metric]; ok { // Platforms may observe resources that have no metric.
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, append([]string{namespace, name}, zone...)...)
		}
	}
	for _, quota := range observed.Quotas {
		gauge(QuotaMetrics[quota.Resource].Most, quota.Limit)
		gauge(QuotaMetrics[quota.Resource].Part, quota.Used)
	}
	for _, capacity := range observed.Capacities {
		gauge(CapacityMetrics[capacity.Resource].Most, capacity.Total, capacity.Zone)
		gauge(CapacityMetrics[capacity.Resource].Part, capacity.Free, capacity.Zone)
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var (
	machinesByPhase = prometheus.NewDesc("hybrid_machines",
		"Machines of a shoot on a site.", []string{"shoot_namespace", "site", "phase"}, nil)
	machinesWanted = prometheus.NewDesc("hybrid_machines_wanted",
		"Machines that a shoot wants on a site.", []string{"shoot_namespace", "site"}, nil)
	machinesWaiting = prometheus.NewDesc("hybrid_machines_longest_wait_seconds",
		"Longest time that a shoot has been waiting for a machine of a phase on a site.", []string{"shoot_namespace",
			"site", "phase"}, nil)
	machinesWithoutRoom = prometheus.NewDesc("hybrid_machines_without_room",
		"Machines of a shoot that wait for quota or capacity of a site.", []string{"shoot_namespace", "site", "reason"}, nil)
	sitesFailing = prometheus.NewDesc("hybrid_sites_failing_seconds",
		"For how long sites of a shoot have not been reconciled or deleted.", []string{"shoot_namespace", "kind", "reason"}, nil)
	siteQuarantined = prometheus.NewDesc("hybrid_site_quarantined",
		"1 if a site of a shoot is in quarantine, 0 if it was.", []string{"shoot_namespace", "site"}, nil)
)

const (
	// phaseNew is the phase of machines without one, which machine-controller-manager has not reconciled yet.
	phaseNew = "New"
	// collectTimeout limits how long a scrape waits for the cache.
	collectTimeout = 5 * time.Second
)

// machines collects metrics about the machines in the cache. Only the leading replica does so.
type machines struct {
	log    logr.Logger
	reader client.Reader
	clock  clock.PassiveClock
	leads  atomic.Bool
}

// Start implements manager.Runnable. It is called when the replica leads and the caches have synced.
func (m *machines) Start(ctx context.Context) error {
	m.leads.Store(true)
	<-ctx.Done()
	m.leads.Store(false)
	return nil
}

// Describe implements prometheus.Collector.
func (m *machines) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- machinesByPhase
	descriptions <- machinesWanted
	descriptions <- machinesWaiting
	descriptions <- machinesWithoutRoom
	descriptions <- sitesFailing
	descriptions <- siteQuarantined
}

// labelled are the values of labels of a metric.
type labelled struct {
	shoot, site, third string
}

// Collect implements prometheus.Collector. Objects without a site belong to other providers.
func (m *machines) Collect(metrics chan<- prometheus.Metric) {
	if !m.leads.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var (
		existing      = &machinev1alpha1.MachineList{}
		deployments   = &machinev1alpha1.MachineDeploymentList{}
		infras        = &extensionsv1alpha1.InfrastructureList{}
		controlPlanes = &extensionsv1alpha1.ControlPlaneList{}
	)
	for _, list := range []client.ObjectList{existing, deployments, infras, controlPlanes} {
		if err := machineapi.IgnoreMissing(m.reader.List(ctx, list, client.UnsafeDisableDeepCopy)); err != nil {
			m.log.Error(err, "Could not list objects for metrics")
			return
		}
	}

	counted, waiting, short, wanted := map[labelled]float64{}, map[labelled]float64{}, map[labelled]float64{}, map[labelled]float64{}
	for i := range existing.Items {
		machine := &existing.Items[i]
		site := machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		if site == "" {
			continue
		}
		of := labelled{shoot: machine.Namespace, site: site, third: PhaseOf(machine)}
		counted[of]++
		if since := waitingSince(machine); !since.IsZero() {
			waiting[of] = max(waiting[of], m.clock.Since(since).Seconds())
		}
		if err := shortageOf(machine); err != nil {
			short[labelled{shoot: machine.Namespace, site: site, third: reasonOf(err)}]++
		}
	}
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		if site := deployment.Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]; site != "" {
			wanted[labelled{shoot: deployment.Namespace, site: site}] += float64(deployment.Spec.Replicas)
		}
	}
	for description, values := range map[*prometheus.Desc]map[labelled]float64{
		machinesByPhase: counted, machinesWaiting: waiting, machinesWithoutRoom: short,
	} {
		for of, value := range values {
			metrics <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, of.shoot, of.site, of.third)
		}
	}
	for i := range infras.Items {
		collectConditions(metrics, m.clock, extensionsv1alpha1.InfrastructureResource, &infras.Items[i])
	}
	for i := range controlPlanes.Items {
		collectConditions(metrics, m.clock, extensionsv1alpha1.ControlPlaneResource, &controlPlanes.Items[i])
	}
	for of, value := range wanted {
		metrics <- prometheus.MustNewConstMetric(machinesWanted, prometheus.GaugeValue, value, of.shoot, of.site)
	}
}

func collectConditions(metrics chan<- prometheus.Metric, clock clock.PassiveClock, kind string, object extensionsv1alpha1.Object) {
	for _, condition := range object.GetExtensionStatus().GetConditions() {
		if condition.Reason == v1alpha1.ReasonDeletionFailed || condition.Reason == v1alpha1.ReasonSitesStay {
			metrics <- prometheus.MustNewConstMetric(sitesFailing, prometheus.GaugeValue, clock.Since(condition.LastTransitionTime.Time).Seconds(),
				object.GetNamespace(), kind, condition.Reason)
		}
		if site, ok := strings.CutPrefix(string(condition.Type), v1alpha1.ConditionSiteQuarantinedPrefix); ok {
			metrics <- prometheus.MustNewConstMetric(siteQuarantined, prometheus.GaugeValue,
				boolean(condition.Status == gardencorev1beta1.ConditionTrue), object.GetNamespace(), site)
		}
	}
}

// PhaseOf returns the phase of a machine, which is Terminating for all machines that are being deleted.
func PhaseOf(machine *machinev1alpha1.Machine) string {
	switch {
	case machine.DeletionTimestamp != nil:
		return string(machinev1alpha1.MachineTerminating)
	case machine.Status.CurrentStatus.Phase == "":
		return phaseNew
	}
	return string(machine.Status.CurrentStatus.Phase)
}

// waitingSince returns since when a machine is being created, being deleted or unhealthy, zero if it is running.
func waitingSince(machine *machinev1alpha1.Machine) time.Time {
	if machine.DeletionTimestamp != nil {
		return machine.DeletionTimestamp.Time
	}
	switch machine.Status.CurrentStatus.Phase {
	case machinev1alpha1.MachineRunning, machinev1alpha1.MachineInPlaceUpdateSuccessful:
		return time.Time{}
	case "", machinev1alpha1.MachinePending, machinev1alpha1.MachineAvailable, machinev1alpha1.MachineCrashLoopBackOff:
		return machine.CreationTimestamp.Time
	}
	return machine.Status.CurrentStatus.LastUpdateTime.Time
}
