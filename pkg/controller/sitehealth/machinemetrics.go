// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"sync/atomic"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
)

var (
	machinesByPhase = prometheus.NewDesc("hybrid_machines",
		"Machines of a shoot on a site.", []string{"shoot_namespace", "site", "phase"}, nil)
	machinesWanted = prometheus.NewDesc("hybrid_machines_wanted",
		"Machines that a shoot wants on a site.", []string{"shoot_namespace", "site"}, nil)
	machinesWaiting = prometheus.NewDesc("hybrid_machines_waiting_seconds",
		"For how long a shoot has waited for that machine of a phase on a site that it has waited for the longest.", []string{"shoot_namespace",
			"site", "phase"}, nil)
	machinesWithoutRoom = prometheus.NewDesc("hybrid_machines_without_room",
		"Machines of a shoot that wait for quota or capacity of a site.", []string{"shoot_namespace", "site", "reason"}, nil)
	sitesFailing = prometheus.NewDesc("hybrid_sites_failing_seconds",
		"For how long sites of a shoot have not been reconciled or deleted.", []string{"shoot_namespace", "kind", "reason"}, nil)
)

const (
	// phaseNew is the phase in metrics of a machine that machine-controller-manager has not looked at.
	phaseNew = "New"
	// collectTimeout is how long a scrape may wait for the cache.
	collectTimeout = 5 * time.Second
)

// machines tells in metrics which machines there are on sites, as the cache knows them. Of several replicas the one that leads tells.
type machines struct {
	log    logr.Logger
	reader client.Reader
	clock  clock.PassiveClock
	leads  atomic.Bool
}

// Start implements manager.Runnable, which is called when the replica begins to lead and the caches are filled.
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
}

// labelled are the values of the labels of a metric.
type labelled struct {
	shoot, site, third string
}

// Collect implements prometheus.Collector. Objects of other providers have no site.
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
			m.log.Error(err, "Machines cannot be counted")
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
		of := labelled{shoot: machine.Namespace, site: site, third: phaseOf(machine)}
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
		collectFailing(metrics, m.clock, extensionsv1alpha1.InfrastructureResource, &infras.Items[i])
	}
	for i := range controlPlanes.Items {
		collectFailing(metrics, m.clock, extensionsv1alpha1.ControlPlaneResource, &controlPlanes.Items[i])
	}
	for of, value := range wanted {
		metrics <- prometheus.MustNewConstMetric(machinesWanted, prometheus.GaugeValue, value, of.shoot, of.site)
	}
}

func collectFailing(metrics chan<- prometheus.Metric, clock clock.PassiveClock, kind string, object extensionsv1alpha1.Object) {
	for _, condition := range object.GetExtensionStatus().GetConditions() {
		if condition.Reason == v1alpha1.ReasonDeletionFailed || condition.Reason == v1alpha1.ReasonSitesStay {
			metrics <- prometheus.MustNewConstMetric(sitesFailing, prometheus.GaugeValue, clock.Since(condition.LastTransitionTime.Time).Seconds(),
				object.GetNamespace(), kind, condition.Reason)
		}
	}
}

// phaseOf is the phase of a machine. One that is to be deleted terminates, whatever it did before.
func phaseOf(machine *machinev1alpha1.Machine) string {
	switch {
	case machine.DeletionTimestamp != nil:
		return string(machinev1alpha1.MachineTerminating)
	case machine.Status.CurrentStatus.Phase == "":
		return phaseNew
	}
	return string(machine.Status.CurrentStatus.Phase)
}

// waitingSince is since when a machine is created, deleted or not well, zero if it runs.
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
