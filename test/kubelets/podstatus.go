// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerState is what a kubelet reports of a container.
type ContainerState struct {
	// Started is when the container started, zero if it does not run.
	Started time.Time
	// Ready says that the container is ready. It is only if it runs.
	Ready bool
	// Reason says why it does not run. Default: ContainerCreating.
	Reason string
	// Message says more about it.
	Message string
	// Restarts is how often it was started again.
	Restarts int32
}

// PodStatus returns the status of a pod whose containers are in the given states. Its init containers have ended. Conditions that
// are not a kubelet's are kept.
func PodStatus(pod *corev1.Pod, state func(container string) ContainerState) corev1.PodStatus {
	status := pod.Status.DeepCopy()
	status.Phase, status.ContainerStatuses, status.InitContainerStatuses = corev1.PodPending, nil, nil
	if status.StartTime == nil {
		status.StartTime = new(metav1.NewTime(time.Now().Truncate(time.Second)))
	}
	status.HostIP, status.HostIPs = "127.0.0.1", []corev1.HostIP{{IP: "127.0.0.1"}}
	ready := true
	for _, c := range pod.Spec.Containers {
		s := state(c.Name)
		container := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: s.Ready, Started: new(!s.Started.IsZero()),
			RestartCount: s.Restarts}
		if s.Started.IsZero() {
			container.State.Waiting = &corev1.ContainerStateWaiting{Reason: cmp.Or(s.Reason, "ContainerCreating"), Message: s.Message}
		} else {
			container.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.Started.Truncate(time.Second))}
			status.Phase = corev1.PodRunning
		}
		ready = ready && s.Ready
		status.ContainerStatuses = append(status.ContainerStatuses, container)
	}
	setPodCondition(status, corev1.PodInitialized, true)
	setPodCondition(status, corev1.ContainersReady, ready)
	setPodCondition(status, corev1.PodReady, ready)
	return *status
}

func setPodCondition(status *corev1.PodStatus, kind corev1.PodConditionType, value bool) {
	condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second))}
	if value {
		condition.Status = corev1.ConditionTrue
	} else {
		condition.Reason = "ContainersNotReady"
	}
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	switch {
	case i < 0:
		status.Conditions = append(status.Conditions, condition)
	case status.Conditions[i].Status != condition.Status:
		status.Conditions[i] = condition
	}
}
