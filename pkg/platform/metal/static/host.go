// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package static

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	obstacleTaken                          = inventory.ObstacleTaken
	obstacleMaintenance inventory.Obstacle = "in maintenance"
	obstacleTainted     inventory.Obstacle = "tainted"
	obstacleDirty       inventory.Obstacle = "dirty"
	obstacleUnreachable inventory.Obstacle = "unreachable"
	obstacleUnsuitable  inventory.Obstacle = "unsuitable"
	obstacleOtherSystem inventory.Obstacle = "with another operating system"
	obstacleUnready     inventory.Obstacle = "not ready"
)

const (
	// effectNoBind is the effect of all taints of hosts.
	effectNoBind corev1.TaintEffect = "NoBind"

	mebibyte = 1 << 20
	// maxMemoryMiB is the size above which a host does not say the truth.
	maxMemoryMiB = 1 << 40
)

// obstacles are all of them, in the order of their description.
var obstacles = []inventory.Obstacle{obstacleTaken, obstacleMaintenance, obstacleTainted, obstacleDirty, obstacleUnreachable,
	obstacleUnsuitable, obstacleOtherSystem, obstacleUnready}

// obstacleTo returns why the host cannot be claimed now.
func obstacleTo(host *staticv1alpha1.StaticHost, selection *inventory.Selection) inventory.Obstacle {
	status := &host.Status
	switch {
	case host.Spec.ConsumerRef != nil:
		return obstacleTaken
	case host.Spec.Maintenance:
		return obstacleMaintenance
	case isTainted(host, selection):
		return obstacleTainted
	case status.Phase == staticv1alpha1.PhaseDirty:
		return obstacleDirty
	case meta.IsStatusConditionFalse(status.Conditions, staticv1alpha1.ConditionReachable):
		return obstacleUnreachable
	case meta.IsStatusConditionFalse(status.Conditions, staticv1alpha1.ConditionSuitable):
		return obstacleUnsuitable
	case host.DeletionTimestamp != nil, status.Phase != staticv1alpha1.PhaseAvailable, status.Provisioned != nil, status.Facts == nil:
		return obstacleUnready
	case !hasSystem(host, selection.OSRelease):
		return obstacleOtherSystem
	default:
		return ""
	}
}

// isTainted reports whether the host has a taint that matters.
func isTainted(host *staticv1alpha1.StaticHost, selection *inventory.Selection) bool {
	for _, taint := range host.Spec.Taints {
		if !selection.Tolerates(corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: effectNoBind}) {
			return true
		}
	}
	return false
}

// hasSystem reports whether the host has the operating system. It returns true if none is wanted.
func hasSystem(host *staticv1alpha1.StaticHost, wanted *v1alpha1.MetalOSRelease) bool {
	has := host.Status.Facts.OSRelease
	return wanted == nil || has.ID == wanted.ID && has.VersionID == wanted.VersionID
}

// isOf reports whether the host is the machine of the owner.
func isOf(host *staticv1alpha1.StaticHost, o owner.Owner, machine string) bool {
	return o.IsReference(host.Spec.ConsumerRef, machine)
}

// hostOf returns the host as the machine of the name, or as one to be claimed with the selection if the name is empty. The operator of
// static hosts does not know whether a host has power.
func hostOf(host *staticv1alpha1.StaticHost, machine string, selection *inventory.Selection) inventory.Host {
	result := inventory.Host{Name: host.Name, Labels: host.Labels, Fault: fault(host)}
	if machine == "" {
		result.State = obstacleTo(host, selection).State()
		return result
	}
	result.State = inventory.Claimed
	result.Machine = machine
	result.ProviderID = hosts.ProviderID(providerIDPrefix, host, machine)
	result.NodeName = host.Annotations[owner.AnnotationNode]
	result.Complete = host.Spec.UserDataSecretRef != nil
	result.Running = result.Complete && host.Status.Phase == staticv1alpha1.PhaseProvisioned
	if facts := host.Status.Facts; facts != nil {
		result.SystemUUID = facts.SystemUUID
		for _, text := range addressesOf(host) {
			if address, err := netip.ParseAddr(text); err == nil {
				result.DiscoveredAddresses = append(result.DiscoveredAddresses, address)
			}
		}
	}
	return result
}

// addressesOf returns the address of the SSH server if the host has it, or else all of its addresses, which include those of bridges and of
// the pod network.
func addressesOf(host *staticv1alpha1.StaticHost) []string {
	if slices.Contains(host.Status.Facts.Addresses, host.Spec.Address) {
		return []string{host.Spec.Address}
	}
	return host.Status.Facts.Addresses
}

// fault returns what is wrong with the host, empty if nothing is. The operator does not look at hosts in maintenance.
func fault(host *staticv1alpha1.StaticHost) string {
	if host.Spec.Maintenance {
		return ""
	}
	// What keeps a host from being a machine does not matter to one that is.
	types := []string{staticv1alpha1.ConditionReachable, staticv1alpha1.ConditionProvisioned}
	if host.Spec.ConsumerRef == nil {
		types = []string{staticv1alpha1.ConditionReachable, staticv1alpha1.ConditionSuitable}
	}
	if host.Status.Phase == staticv1alpha1.PhaseDirty {
		types = append([]string{staticv1alpha1.ConditionClean}, types...)
	}
	for _, name := range types {
		if found := meta.FindStatusCondition(host.Status.Conditions, name); found != nil && found.Status == metav1.ConditionFalse {
			return describe(found)
		}
	}
	return ""
}

// describe returns the reason and the message of the condition.
func describe(condition *metav1.Condition) string {
	return fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
}

// surveyed returns the hardware of the host.
func surveyed(host *staticv1alpha1.StaticHost) inventory.Surveyed {
	result := inventory.Surveyed{Tainted: isTainted(host, &inventory.Selection{})}
	if facts := host.Status.Facts; facts != nil {
		result.CPUs, result.Memory = facts.CPUs, min(max(facts.MemoryMiB, 0), maxMemoryMiB)*mebibyte
		result.Architecture = facts.Architecture
	}
	return result
}
