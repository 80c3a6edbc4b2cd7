// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// unhealthyAnnotation marks hosts that Metal3's Cluster API provider must not use.
const unhealthyAnnotation = "capm3.metal3.io/unhealthy"

// obstacle is a reason that a host cannot be claimed.
type obstacle = inventory.Obstacle

const (
	obstacleNone        obstacle = ""
	obstacleTaken                = inventory.ObstacleTaken
	obstacleMaintenance obstacle = "in maintenance"
	obstacleFaulty      obstacle = "faulty"
	obstacleUncleaned   obstacle = "not cleaned after release"
	obstacleUnready     obstacle = "not ready"
)

// obstacles are all of them, in the order of their description.
var obstacles = []obstacle{obstacleTaken, obstacleMaintenance, obstacleFaulty, obstacleUncleaned, obstacleUnready}

// obstacleTo returns why the host cannot be claimed now with that cleaning. A host with an image but without a consumer is used manually.
// The cleaning mode of a free host is that of its last release, and thus determines what is left on it.
func obstacleTo(host *metal3v1alpha1.BareMetalHost, cleaning string) obstacle {
	switch {
	case host.Spec.ConsumerRef != nil, host.Spec.Image != nil, host.Spec.CustomDeploy != nil, host.Spec.ExternallyProvisioned:
		return obstacleTaken
	case maintenance(host) != "", isAnnotated(host, unhealthyAnnotation):
		return obstacleMaintenance
	case host.Status.ErrorMessage != "", host.Status.ErrorType != "", host.Status.OperationalStatus == metal3v1alpha1.OperationalStatusError:
		return obstacleFaulty
	case cleaning == v1alpha1.MetalCleaningMetadata && host.Spec.AutomatedCleaningMode == metal3v1alpha1.CleaningModeDisabled:
		return obstacleUncleaned
	case host.DeletionTimestamp != nil, host.Status.OperationalStatus != metal3v1alpha1.OperationalStatusOK, !isClean(host):
		return obstacleUnready
	default:
		return obstacleNone
	}
}

// maintenance returns how baremetal-operator is kept from managing the host, empty if it is not.
func maintenance(host *metal3v1alpha1.BareMetalHost) string {
	switch {
	case isAnnotated(host, metal3v1alpha1.PausedAnnotation):
		return "paused"
	case isAnnotated(host, metal3v1alpha1.DetachedAnnotation), host.Status.OperationalStatus == metal3v1alpha1.OperationalStatusDetached:
		return "detached"
	default:
		return ""
	}
}

func isAnnotated(host *metal3v1alpha1.BareMetalHost, annotation string) bool {
	_, ok := host.Annotations[annotation]
	return ok
}

// isClean reports whether the host is as clean as baremetal-operator was configured to leave it.
func isClean(host *metal3v1alpha1.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case metal3v1alpha1.StateAvailable, metal3v1alpha1.StateReady:
		return true
	default:
		return false
	}
}

// isOf reports whether the host is the machine of the owner, by its consumer, or by its labels if the consumer was removed and the host
// has got no other image since.
func isOf(host *metal3v1alpha1.BareMetalHost, o owner.Owner, machine string) bool {
	if host.Spec.ConsumerRef == nil {
		return o.OwnsMachine(host.Labels, machine) && (host.Spec.Image == nil || isData(host.Spec.UserData, machine))
	}
	return o.IsReference(host.Spec.ConsumerRef, machine)
}

// isData reports whether the reference is to the Secret of the machine.
func isData(reference *corev1.SecretReference, machine string) bool {
	return reference != nil && reference.Name == machine
}

// isComplete reports whether everything was written to the host that its machine needs.
func isComplete(host *metal3v1alpha1.BareMetalHost) bool {
	return host.Spec.ConsumerRef != nil && host.Spec.Image != nil && host.Spec.UserData != nil
}

// isProvisioned reports whether the image was written, so that its Secret is no longer read.
func isProvisioned(host *metal3v1alpha1.BareMetalHost) bool {
	return host.Status.Provisioning.State == metal3v1alpha1.StateProvisioned
}

// hostOf returns the host as the machine of the name, or as one to be claimed with that cleaning if the name is empty.
func hostOf(host *metal3v1alpha1.BareMetalHost, machine, cleaning string) inventory.Host {
	result := inventory.Host{Name: host.Name, Labels: host.Labels, MACAddress: host.Spec.BootMACAddress, Fault: fault(host)}
	if machine == "" {
		result.State = obstacleTo(host, cleaning).State()
		if host.Status.Provisioning.State == metal3v1alpha1.StateUnmanaged && maintenance(host) == "" {
			result.Fault = cmp.Or(result.Fault, "it has no BMC")
		}
		return result
	}
	result.State = inventory.Claimed
	result.Machine = machine
	result.ProviderID = hosts.ProviderID(providerIDPrefix, host, machine)
	result.NodeName = host.Annotations[owner.AnnotationNode]
	result.Complete = isComplete(host)
	result.Running = result.Complete && isProvisioned(host)
	if isProvisioned(host) {
		result.Provisioned = host.Status.OperationHistory.Provision.End.Time
	}
	result.Off = isOff(host)
	if hardware := host.Status.HardwareDetails; hardware != nil {
		result.Vendor, result.Model = hardware.SystemVendor.Manufacturer, hardware.SystemVendor.ProductName
		for _, nic := range hardware.NIC {
			if address, err := netip.ParseAddr(nic.IP); err == nil {
				result.DiscoveredAddresses = append(result.DiscoveredAddresses, address)
			}
		}
	}
	return result
}

// isOff reports whether the host has no power. The power state that baremetal-operator reports is stale while it does not manage the
// host or cannot reach its BMC, and says nothing about the machine before it is provisioned.
func isOff(host *metal3v1alpha1.BareMetalHost) bool {
	return !host.Status.PoweredOn && maintenance(host) == "" && host.Status.ErrorType == "" &&
		host.Status.OperationalStatus == metal3v1alpha1.OperationalStatusOK && isProvisioned(host)
}

// fault returns baremetal-operator's message about a fault of the host.
func fault(host *metal3v1alpha1.BareMetalHost) string {
	if maintenance(host) != "" {
		return ""
	}
	parts := []string{string(host.Status.ErrorType), host.Status.ErrorMessage}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}
