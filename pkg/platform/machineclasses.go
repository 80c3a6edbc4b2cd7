// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// MachineClasses says what a machine of a pool is in a zone. The Worker controller uses it.
type MachineClasses interface {
	// Resolve completes spec with the platform's block. It resolves all names to IDs, and makes what the machines of a pool
	// share on a site, such as a server group. Errors are classified and name the missing thing.
	Resolve(ctx context.Context, request MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error
	// RollsFor returns what in the request rolls machines when it changes, beside what Gardener rolls machines for. It does not
	// ask the site. Its order means nothing; equal requests return equal values.
	RollsFor(request MachineClassRequest) []string
	// NodeLabels are labels that the nodes of a zone have beside those that say where they are for Gardener, such as those that the CSI
	// driver of the site reads. They let the cluster-autoscaler know what a node will be. It does not ask the site.
	NodeLabels(s *site.Site, zone *v1alpha1.SiteZone) map[string]string
	// Locate returns how the site is reached and where on it the shoot's machines are, which is all that listing and deleting them
	// needs: a spec for each place whose machines are listed by themselves, at least one. The status is what the infrastructure came
	// to, nil if that is not known. It does not ask the site.
	Locate(s *site.Site, status *v1alpha1.SiteStatus) ([]*v1alpha1.MachineProviderSpec, error)
}

// Cleaner is implemented by MachineClasses whose Resolve creates objects that the machines of a pool share.
type Cleaner interface {
	// CleanUp deletes what Resolve created for the shoot on the site and none of the specs uses. Errors are classified.
	CleanUp(ctx context.Context, s *site.Site, inUse []*v1alpha1.MachineProviderSpec) error
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
	// Capacity is what the machine type has, as far as the CloudProfile says.
	Capacity corev1.ResourceList
	// Image is the pool's machine image on the site.
	Image *v1alpha1.SiteMachineImage
	// VolumeType is the pool's volume type on the site, nil if the pool does not ask for one.
	VolumeType *v1alpha1.SiteVolumeType
	// VolumeSize is the size of the root volume in GiB, zero if the pool does not ask for one.
	VolumeSize int
	// DataVolumes are the pool's data volumes on the site.
	DataVolumes []DataVolume
	// Settings are the pool's settings for the site, empty if there are none.
	Settings v1alpha1.WorkerSite
	// PodCIDRs are the shoot's pod ranges.
	PodCIDRs []string
	// Pool is the name of the worker pool.
	Pool string
	// Minimum is how many machines the pool has at least in the zone.
	Minimum int32
	// Rolling is how machines are replaced, nil if none are: those of the zone have their class already, or are updated in place.
	Rolling *Rolling
}

// Rolling is how the machines of a pool in a zone are replaced.
type Rolling struct {
	// MaxSurge is how many machines there may be more than wanted.
	MaxSurge intstr.IntOrString
	// MaxUnavailable is how many machines there may be less than wanted.
	MaxUnavailable intstr.IntOrString
}

// DataVolume is a data volume of the machines of a pool on a site.
type DataVolume struct {
	// Name is the name of the data volume in the pool.
	Name string
	// Size is the size in GiB.
	Size int
	// Type is the volume type on the site, nil if the pool does not ask for one.
	Type *v1alpha1.SiteVolumeType
	// Settings are the pool's settings of the volume for the site, empty if there are none.
	Settings v1alpha1.WorkerDataVolumeSite
}
