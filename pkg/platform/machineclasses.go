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

// MachineClasses resolves the machines of a pool in a zone. The Worker controller uses it.
type MachineClasses interface {
	// Resolve adds the platform's block to spec. It resolves all names to IDs, and creates what the machines of a pool share on a site,
	// such as a server group. Errors are classified and name what is missing.
	Resolve(ctx context.Context, request MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error
	// RollsFor returns the values of the request whose change triggers a rolling update, in addition to those of Gardener. It sends no
	// requests to the site. The order is irrelevant; equal requests return equal values.
	RollsFor(request MachineClassRequest) []string
	// NodeLabels returns labels of the nodes of a zone in addition to Gardener's topology labels, such as those that the CSI driver of the
	// site reads. They tell the cluster-autoscaler the labels of future nodes. It sends no requests to the site.
	NodeLabels(s *site.Site, zone *v1alpha1.SiteZone) map[string]string
	// Locate returns specs that suffice to list and delete the shoot's machines on the site: one for each part of the site whose machines
	// are listed separately, at least one. The status is the observed state of the infrastructure, nil if it is not known. It sends no
	// requests to the site.
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
	// Status is the observed state of the site's infrastructure.
	Status *v1alpha1.SiteStatus
	// Zone is the zone in the CloudProfile.
	Zone *v1alpha1.SiteZone
	// MachineType is the pool's machine type on the site.
	MachineType *v1alpha1.SiteMachineType
	// Capacity is the capacity of the machine type in the CloudProfile.
	Capacity corev1.ResourceList
	// Image is the pool's machine image on the site.
	Image *v1alpha1.SiteMachineImage
	// VolumeType is the pool's volume type on the site, nil if the pool specifies none.
	VolumeType *v1alpha1.SiteVolumeType
	// VolumeSize is the size of the root volume in GiB, zero if the pool specifies none.
	VolumeSize int
	// DataVolumes are the pool's data volumes on the site.
	DataVolumes []DataVolume
	// Settings are the pool's settings for the site, empty if there are none.
	Settings v1alpha1.WorkerSite
	// PodCIDRs are the shoot's pod ranges.
	PodCIDRs []string
	// Pool is the name of the worker pool.
	Pool string
	// Minimum is the minimum number of machines of the pool in the zone.
	Minimum int32
	// Rolling is how machines are replaced, nil if none are, because they already have their class or are updated in place.
	Rolling *Rolling
}

// Rolling is how the machines of a pool in a zone are replaced.
type Rolling struct {
	// MaxSurge is how many machines may exist above the desired number.
	MaxSurge intstr.IntOrString
	// MaxUnavailable is how many machines may be missing from the desired number.
	MaxUnavailable intstr.IntOrString
}

// DataVolume is a data volume of the machines of a pool on a site.
type DataVolume struct {
	// Name is the name of the data volume in the pool.
	Name string
	// Size is the size in GiB.
	Size int
	// Type is the volume type on the site, nil if the pool specifies none.
	Type *v1alpha1.SiteVolumeType
	// Settings are the pool's settings of the volume for the site, empty if there are none.
	Settings v1alpha1.WorkerDataVolumeSite
}
