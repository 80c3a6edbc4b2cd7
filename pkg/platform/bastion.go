// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"net/netip"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Bastions creates and deletes bastions, which are hosts through which nodes are reached by SSH. The Bastion controller uses it. Errors are
// classified.
type Bastions interface {
	// IsPublic reports whether bastions on the site get an address outside the node network. It sends no requests to the site.
	IsPublic(s *site.Site) bool
	// Ensure creates the bastion, or brings it to the desired state, and returns it when it runs. It adopts what an interrupted call left
	// behind. The error is of progress while the bastion starts.
	Ensure(ctx context.Context, request BastionRequest) (Bastion, error)
	// Delete deletes the bastion with the name and all that was created for it, and returns nil when it is gone. It is a no-op if the bastion
	// does not exist.
	Delete(ctx context.Context, s *site.Site, name string) error
}

// BastionGate is implemented by Bastions whose sites filter the traffic to nodes.
type BastionGate interface {
	// Admit lets SSH to the nodes of the site pass from exactly the addresses of the bastion with the name, which may be on another site.
	Admit(ctx context.Context, s *site.Site, name string, from []netip.Addr) error
}

// BastionRequest describes a bastion.
type BastionRequest struct {
	// Name is the name of the bastion. It is unique in the shoot.
	Name string
	// Site is the site of the bastion.
	Site *site.Site
	// Status is the observed state of the site's infrastructure.
	Status *v1alpha1.SiteStatus
	// Machine returns the machine, without volumes, settings and pool. A bastion that exists and is not replaced does not need it: its machine
	// type or image may no longer be in the CloudProfile.
	Machine func() (MachineClassRequest, error)
	// UserData is a script that the bastion runs when it starts for the first time.
	UserData []byte
	// Ingress are the ranges from which SSH to the bastion is allowed.
	Ingress []netip.Prefix
}

// Bastion is a bastion that runs.
type Bastion struct {
	// Address is where it is reached.
	Address netip.Addr
	// NodeAddresses are its addresses in the node network.
	NodeAddresses []netip.Addr
}
