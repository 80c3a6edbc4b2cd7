// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"slices"
	"strings"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// obstacle is why a server cannot be claimed. It reads well behind a number.
type obstacle = inventory.Obstacle

const (
	obstacleNone        obstacle = ""
	obstacleTaken                = inventory.ObstacleTaken
	obstacleMaintenance obstacle = "in maintenance"
	obstacleCordoned    obstacle = "unclaimable"
	obstacleTainted     obstacle = "tainted"
	obstacleNotRetained obstacle = "not retained after release"
	obstacleUnready     obstacle = "not ready"
)

// obstacles are all of them, in the order of their description.
var obstacles = []obstacle{obstacleTaken, obstacleMaintenance, obstacleCordoned, obstacleTainted, obstacleNotRetained, obstacleUnready}

// carrierUp is what the status of an interface is that has a link.
const carrierUp = "up"

// obstacleTo returns why the server cannot be claimed with the selection. It applies the rules of metal-operator, and one for cleaning:
// metal-operator wipes nothing, so that only servers are clean that it retains after their release until they were cleaned manually.
func obstacleTo(server *metalv1alpha1.Server, selection *inventory.Selection) obstacle {
	switch {
	case server.Spec.ServerClaimRef != nil:
		return obstacleTaken
	case inMaintenance(server):
		return obstacleMaintenance
	case server.Spec.Unclaimable:
		return obstacleCordoned
	case !tolerates(server.Spec.Taints, selection):
		return obstacleTainted
	case !isClean(server, selection):
		return obstacleNotRetained
	case server.DeletionTimestamp != nil, server.Status.State != metalv1alpha1.ServerStateAvailable,
		server.Status.PowerState != metalv1alpha1.ServerOffPowerState:
		return obstacleUnready
	default:
		return obstacleNone
	}
}

func isClean(server *metalv1alpha1.Server, selection *inventory.Selection) bool {
	return selection.Cleaning == v1alpha1.MetalCleaningDisabled || server.Spec.ReclaimPolicy == metalv1alpha1.ServerReclaimPolicyRetain
}

// inMaintenance reports whether someone works at the server, so that metal-operator leaves it alone.
func inMaintenance(server *metalv1alpha1.Server) bool {
	switch server.Annotations[metalv1alpha1.OperationAnnotation] {
	case metalv1alpha1.OperationAnnotationPark, metalv1alpha1.OperationAnnotationIgnore,
		metalv1alpha1.OperationAnnotationIgnoreChildAndSelf, metalv1alpha1.OperationAnnotationIgnorePropagated:
		return true
	}
	_, parked := server.Annotations[metalv1alpha1.ParkedAnnotation]
	return parked || server.Spec.ServerMaintenanceRef != nil ||
		server.Status.State == metalv1alpha1.ServerStateMaintenance || server.Status.State == metalv1alpha1.ServerStateParked
}

// tolerates reports whether claims with the tolerations of the selection can be bound to a server with the taints.
func tolerates(taints []metalv1alpha1.Taint, selection *inventory.Selection) bool {
	return !slices.ContainsFunc(taints, func(t metalv1alpha1.Taint) bool {
		return t.Effect == metalv1alpha1.TaintEffectNoBind &&
			!selection.Tolerates(corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	})
}

// macAddress returns the address of the first interface that has a link, or else of the first one.
func macAddress(server *metalv1alpha1.Server) string {
	interfaces := server.Status.NetworkInterfaces
	if index := slices.IndexFunc(interfaces, func(n metalv1alpha1.NetworkInterface) bool { return n.CarrierStatus == carrierUp }); index >= 0 {
		return interfaces[index].MACAddress
	}
	if len(interfaces) > 0 {
		return interfaces[0].MACAddress
	}
	return ""
}

// message returns what the server says about itself: the latest of its conditions that says something.
func message(server *metalv1alpha1.Server) string {
	conditions := slices.Clone(server.Status.Conditions)
	slices.SortStableFunc(conditions, func(a, b metav1.Condition) int { return b.LastTransitionTime.Compare(a.LastTransitionTime.Time) })
	for i := range conditions {
		if text := strings.TrimSpace(conditions[i].Message); text != "" {
			return conditions[i].Type + ": " + text
		}
	}
	return ""
}
