// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// checkQuarantine returns an error if the operation must wait for the end of the quarantine of the machine's site. It is called before any
// request is sent to the site.
//
//   - A machine that was running is not deleted. machine-controller-manager calls DeleteMachine again after 5 seconds, because the code is
//     Unavailable, so the deletion continues soon after the quarantine; with most other codes it would be 10 minutes. The Machine stays in
//     phase Terminating. It was drained before the first call; if its node has not been ready for 5 minutes, its pods were deleted by force
//     and its VolumeAttachments were deleted. The driver is not asked before, so only machines that are not marked for deletion keep their
//     pods.
//   - Orphans are not deleted. machine-controller-manager finds them again with its next list. It does not retry in between.
//   - No machine is created. With code ResourceExhausted the cluster-autoscaler tries another site at once, and machine-controller-manager
//     calls CreateMachine again after 10 minutes (--resource-exhausted-retry) until the creation timeout, upon which it replaces the
//     Machine. The node of such a Machine was never registered, so the Machine may be deleted.
func checkQuarantine(operation string, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass, now time.Time) error {
	value, ok := class.Annotations[v1alpha1.AnnotationQuarantinedUntil]
	if !ok {
		return nil
	}
	until := "until " + value
	end, err := time.Parse(time.RFC3339, value)
	switch {
	case err != nil:
		until = "without a valid end (annotation " + v1alpha1.AnnotationQuarantinedUntil + " of machine class " + class.Name + ")"
	case !now.Before(end):
		return nil
	}

	switch {
	case operation == operationCreate, operation == operationGet && isNew(m):
		return platform.NewError(platform.ClassExhausted, "the site is in quarantine %s, no machine is created on it", until)
	case operation != operationDelete:
		return nil
	case m.UID == "":
		return platform.NewError(platform.ClassTransient, "the site is in quarantine %s, orphans are not deleted", until)
	case wasRunning(m) && m.Annotations[v1alpha1.AnnotationDeleteAnyway] == "":
		return platform.NewError(platform.ClassTransient,
			"the site is in quarantine %s, the machine is kept; to delete it now, set annotation %s of the Machine to the reason", until,
			v1alpha1.AnnotationDeleteAnyway)
	}
	return nil
}

// wasRunning returns whether the machine's node has been registered. machine-controller-manager copies the conditions of the node, and
// keeps them when the node is gone. Without any conditions, a machine that was assigned a node may have been running.
func wasRunning(m *machinev1alpha1.Machine) bool {
	for i := range m.Status.Conditions {
		if m.Status.Conditions[i].Type == corev1.NodeReady {
			return true
		}
	}
	return len(m.Status.Conditions) == 0 && m.Labels[machinev1alpha1.NodeLabelKey] != "" && m.Spec.ProviderID != ""
}
