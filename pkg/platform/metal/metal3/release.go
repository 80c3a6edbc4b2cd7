// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"strings"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
)

// held returns why the host is not released now.
func held(host *metal3v1alpha1.BareMetalHost) error {
	if how := maintenance(host); how != "" {
		return platform.NewError(platform.ClassTransient, "host %q is in maintenance (%s), and is released after that", host.Name, how)
	}
	return nil
}

// cleanPatch removes the machine from the host except its consumer, so that nothing else claims it before it is clean.
func cleanPatch(host *metal3v1alpha1.BareMetalHost, machine, cleaning string) any {
	if !isWanted(host, machine, cleaning) {
		return nil
	}
	return newDeprovisionPatch(host, machine, cleaning)
}

// newDeprovisionPatch returns the patch that removes the machine from the host. baremetal-operator refuses to power off a host with
// disablePowerOff.
func newDeprovisionPatch(host *metal3v1alpha1.BareMetalHost, machine, cleaning string) hosts.Patch[deprovisionSpec] {
	return hosts.Patch[deprovisionSpec]{
		Metadata: hosts.Metadata{ResourceVersion: host.ResourceVersion},
		Spec: deprovisionSpec{
			NetworkData:           formerNetworkData(host, machine),
			AutomatedCleaningMode: metal3v1alpha1.AutomatedCleaningMode(cleaning),
			Online:                host.Spec.DisablePowerOff,
		},
	}
}

// isWanted reports whether the spec of the host still has anything of the machine.
func isWanted(host *metal3v1alpha1.BareMetalHost, machine, cleaning string) bool {
	spec := &host.Spec
	return spec.Image != nil || spec.UserData != nil || spec.MetaData != nil ||
		!ptr.Equal(spec.NetworkData, formerNetworkData(host, machine)) || spec.Online != spec.DisablePowerOff ||
		spec.AutomatedCleaningMode != metal3v1alpha1.AutomatedCleaningMode(cleaning)
}

// formerNetworkData returns the network data of the host without the machine, which its operator wrote.
func formerNetworkData(host *metal3v1alpha1.BareMetalHost, machine string) *corev1.SecretReference {
	if !isData(host.Spec.NetworkData, machine) {
		return host.Spec.NetworkData
	}
	namespace, name, found := strings.Cut(host.Annotations[owner.AnnotationNetworkData], "/")
	if !found {
		return nil
	}
	return &corev1.SecretReference{Namespace: namespace, Name: name}
}

// isReleasable reports whether nothing of the machine is left on the host.
func isReleasable(host *metal3v1alpha1.BareMetalHost) bool {
	return host.Spec.Image == nil && isClean(host) && (!host.Status.PoweredOn || host.Spec.DisablePowerOff)
}

// freePatch removes the consumer from the host.
func freePatch(host *metal3v1alpha1.BareMetalHost, o owner.Owner, machine string) any {
	return hosts.Patch[freeSpec]{Metadata: hosts.Metadata{
		ResourceVersion: host.ResourceVersion,
		Labels:          hosts.Removed(o.MachineLabels(machine)),
		Annotations:     map[string]*string{owner.AnnotationNode: nil, owner.AnnotationNetworkData: nil},
	}}
}

// unreleased returns why something of the machine is still on the host.
func unreleased(host *metal3v1alpha1.BareMetalHost) error {
	switch {
	case fault(host) != "":
		return platform.NewError(platform.ClassTransient, "host %q cannot be cleaned, and is not released before that: %s",
			host.Name, fault(host))
	case isClean(host):
		return platform.NewProgress("host %q is switched off", host.Name)
	default:
		return platform.NewProgress("host %q is %s", host.Name, progress(host))
	}
}

// progress returns the progress of the host's cleaning.
func progress(host *metal3v1alpha1.BareMetalHost) string {
	if state := host.Status.Provisioning.State; state != metal3v1alpha1.StateProvisioned && state != metal3v1alpha1.StateProvisioning {
		return string(state)
	}
	return "waiting to be deprovisioned"
}
