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

// Exposures creates and deletes the load balancers through which the API servers of self-hosted shoots are reached. The
// SelfHostedShootExposure controller uses it. Errors are classified.
type Exposures interface {
	// Ensure creates the load balancer, or brings it to the desired state, and returns the address where it is reached. It adopts what an
	// interrupted call left behind. It waits for the load balancer; the error is of progress if that takes longer.
	Ensure(ctx context.Context, request ExposureRequest) (netip.Addr, error)
	// Delete deletes the load balancer and all that was created for it, and returns nil when it is gone. It is a no-op if it does not exist.
	Delete(ctx context.Context, s *site.Site) error
}

// ExposureRequest describes the load balancer of a self-hosted shoot.
type ExposureRequest struct {
	// Site is the site of the nodes of the control plane.
	Site *site.Site
	// Status is the observed state of the site's infrastructure.
	Status *v1alpha1.SiteStatus
	// Settings are the shoot owner's settings of load balancers on the site.
	Settings v1alpha1.ControlPlaneSite
	// Port is the port of the load balancer and of the API servers.
	Port int32
	// Endpoints are the addresses of the API servers in the node network, in order and each once.
	Endpoints []netip.Addr
}
