// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// MachineClasses says what a machine of a pool is in a zone. The Worker controller uses it.
type MachineClasses interface {
	// Resolve completes spec with the platform's block. It resolves all names to IDs. Errors are classified and name the
	// missing thing.
	Resolve(ctx context.Context, request MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error
}

// MachineClassRequest describes the machines of one pool in one zone.
type MachineClassRequest struct {
	// Site is the zone's site.
	Site *site.Site
	// Status is what the site's infrastructure came to.
	Status *v1alpha1.SiteStatus
	// Zone is the zone in the CloudProfile.
	Zone *v1alpha1.SiteZone
	// MachineType is the pool's machine type on the site.
	MachineType *v1alpha1.SiteMachineType
	// Image is the pool's machine image on the site.
	Image *v1alpha1.SiteMachineImage
	// VolumeType is the pool's volume type on the site, nil if the pool does not ask for one.
	VolumeType *v1alpha1.SiteVolumeType
	// VolumeSize is the size of the root volume in GiB, zero if the pool does not ask for one.
	VolumeSize int
	// PodCIDRs are the shoot's pod ranges.
	PodCIDRs []string
	// Pool is the name of the worker pool.
	Pool string
}
