// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package quarantine

import (
	"slices"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// contact is what is known about the contact between a machine that had run and the control plane.
type contact struct {
	// lost is since when there is no contact, zero if there is.
	lost time.Time
	// ready is since when the node is ready, zero if it is not.
	ready time.Time
	// terminating machines are no longer observed: machine-controller-manager leaves their conditions as they were.
	terminating bool
}

// contactsOf returns the contacts of the machines that had run, by the names of their sites. Terminating machines that were not lost
// before are omitted: whether they are lost now is unknown.
func contactsOf(machines []machinev1alpha1.Machine) map[string][]contact {
	contacts := map[string][]contact{}
	for i := range machines {
		machine := &machines[i]
		site := machine.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
		if c, known := contactOf(machine); known && site != "" {
			contacts[site] = append(contacts[site], c)
		}
	}
	return contacts
}

// contactOf returns false if the machine never ran, or if its contact is unknown. The kubelet of a node that is not ready reports that, so
// there is contact. Machines that are updated in place are expected to reboot.
func contactOf(machine *machinev1alpha1.Machine) (contact, bool) {
	at := slices.IndexFunc(machine.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	status := machine.Status.CurrentStatus
	if at < 0 || status.Phase == machinev1alpha1.MachineInPlaceUpdating {
		return contact{}, false
	}
	ready := machine.Status.Conditions[at]
	c := contact{terminating: machine.DeletionTimestamp != nil || status.Phase == machinev1alpha1.MachineTerminating}
	switch {
	case ready.Status == corev1.ConditionUnknown:
		c.lost = ready.LastTransitionTime.Time
		if c.lost.IsZero() {
			c.lost = status.LastUpdateTime.Time
		}
	case c.terminating:
		return contact{}, false
	case isNodeMissing(machine):
		c.lost = status.LastUpdateTime.Time
	case ready.Status == corev1.ConditionTrue:
		c.ready = ready.LastTransitionTime.Time
	}
	return c, true
}

// isNodeMissing returns whether the Node of the machine was deleted: machine-controller-manager takes the machine for unhealthy although no
// condition says so.
func isNodeMissing(machine *machinev1alpha1.Machine) bool {
	phase := machine.Status.CurrentStatus.Phase
	return (phase == machinev1alpha1.MachineUnknown || phase == machinev1alpha1.MachineFailed) &&
		!slices.ContainsFunc(machine.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue ||
				c.Type != corev1.NodeReady && c.Status != corev1.ConditionFalse
		})
}

func isLost(c contact) bool {
	return !c.lost.IsZero()
}

// losses returns the sorted times at which contacts were lost.
func losses(contacts []contact) []time.Time {
	var times []time.Time
	for _, c := range contacts {
		if isLost(c) {
			times = append(times, c.lost)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}
