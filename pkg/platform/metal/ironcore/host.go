// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"cmp"
	"fmt"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// isOf reports whether the server is held for the claim of the namespace and name.
func isOf(server *metalv1alpha1.Server, namespace, claim string) bool {
	ref := server.Spec.ServerClaimRef
	return ref != nil && ref.Namespace == namespace && ref.Name == claim
}

// isComplete reports whether everything was written to the claim that its machine needs.
func isComplete(claim *metalv1alpha1.ServerClaim) bool {
	return claim.Spec.IgnitionSecretRef != nil && claim.Spec.Power == metalv1alpha1.PowerOn
}

// serverName returns the name of the server that the claim is for, empty if there is none yet.
func serverName(claim *metalv1alpha1.ServerClaim) string {
	if claim.Spec.ServerRef == nil {
		return ""
	}
	return claim.Spec.ServerRef.Name
}

// hostOf returns the host of a machine. The server may be nil if the inventory has none of the name that the claim says.
func hostOf(claim *metalv1alpha1.ServerClaim, server *metalv1alpha1.Server) inventory.Host {
	host := inventory.Host{
		Name:       serverName(claim),
		State:      inventory.Claimed,
		Machine:    claim.Labels[owner.LabelMachine],
		ProviderID: providerIDPrefix + claim.Namespace + "/" + claim.Name,
		NodeName:   claim.Annotations[owner.AnnotationNode],
		Complete:   isComplete(claim),
	}
	host.Fault = fault(claim, server)
	if server == nil {
		return host
	}
	host.MACAddress = macAddress(server)
	if !isOf(server, claim.Namespace, claim.Name) {
		return host
	}
	host.Labels = server.Labels
	host.Running = host.Complete && server.Status.PowerState == metalv1alpha1.ServerOnPowerState
	host.Off = isOff(server)
	host.SystemUUID = server.Spec.SystemUUID
	host.Vendor, host.Model = server.Status.Manufacturer, server.Status.Model
	for _, card := range server.Status.NetworkInterfaces {
		for _, ip := range card.IPs {
			host.DiscoveredAddresses = append(host.DiscoveredAddresses, ip.Addr)
		}
	}
	return host
}

// isOff reports whether the server has no power. The power state is stale while metal-operator leaves the server alone, and is not the
// machine's while the server is in maintenance.
func isOff(server *metalv1alpha1.Server) bool {
	_, ignored := server.Annotations[metalv1alpha1.OperationAnnotation]
	return !ignored && server.Status.PowerState == metalv1alpha1.ServerOffPowerState &&
		server.Status.State == metalv1alpha1.ServerStateReserved
}

// fault returns the fault of a machine's server. It returns none before the server is bound.
func fault(claim *metalv1alpha1.ServerClaim, server *metalv1alpha1.Server) string {
	switch {
	case claim.Status.Phase != metalv1alpha1.PhaseBound || claim.DeletionTimestamp != nil:
		return ""
	case server == nil:
		return fmt.Sprintf("server %q no longer exists", serverName(claim))
	case inMaintenance(server):
		return ""
	case !isOf(server, claim.Namespace, claim.Name):
		return fmt.Sprintf("server %q is no longer held for server claim %q", server.Name, claim.Name)
	case server.Status.State != metalv1alpha1.ServerStateError:
		return ""
	}
	return stateOf(server)
}

// stateOf returns what a server in a wrong state says.
func stateOf(server *metalv1alpha1.Server) string {
	return cmp.Or(message(server), fmt.Sprintf("server %q is in state %s", server.Name, server.Status.State))
}

// freeHostOf returns a host that is not a machine of the shoot.
func freeHostOf(server *metalv1alpha1.Server, selection *inventory.Selection) inventory.Host {
	return inventory.Host{Name: server.Name, Labels: server.Labels, MACAddress: macAddress(server),
		State: obstacleTo(server, selection).State(), Fault: faultOfFree(server)}
}

// faultOfFree returns why a server that no machine uses cannot become a machine, although it is not being prepared.
func faultOfFree(server *metalv1alpha1.Server) string {
	switch state, power := server.Status.State, server.Status.PowerState; {
	case server.Spec.ServerClaimRef != nil, inMaintenance(server):
		return ""
	case state == metalv1alpha1.ServerStateError:
		return stateOf(server)
	case state == metalv1alpha1.ServerStateAvailable && (power == "" || power == metalv1alpha1.ServerPausedPowerState):
		return fmt.Sprintf("its power state is %q", power)
	}
	return ""
}
