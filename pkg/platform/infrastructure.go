// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Infrastructure creates and deletes what a site needs before it can have machines. The Infrastructure controller uses it.
type Infrastructure interface {
	// Checks returns all checks that Validate makes.
	Checks() []Check
	// Validate finds mistakes that only the site can detect: missing objects, insufficient quotas, missing roles. It is read-only. It
	// returns a classified error if the site, or a part of it, could not be validated.
	Validate(ctx context.Context, s *site.Site, request ValidationRequest) (Findings, error)
	// Reconcile creates, adopts and updates the site's objects. It calls persist with the state after each created object, and stops if
	// persist fails. Errors are classified.
	Reconcile(ctx context.Context, s *site.Site, persist Persist) (*v1alpha1.SiteStatus, error)
	// Delete deletes the shoot's objects in the site, including those that are not in the state, and calls persist with the state after
	// each deleted object. Errors are classified, and wrap ErrNoAccess if the site could not be accessed at all.
	Delete(ctx context.Context, s *site.Site, persist Persist) error
	// Orphans lists the objects of the shoot in the site, including those that are not in the state. It is read-only. Errors are
	// classified.
	Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error)
}

// ValidationRequest describes what a site is validated for.
type ValidationRequest struct {
	// Path is the path of the site in the InfrastructureConfig.
	Path *field.Path
	// Demands are the demands of the shoot's pools.
	Demands []Demand
	// ControlPlane are the settings for the site in the ControlPlaneConfig, empty if there are none.
	ControlPlane v1alpha1.ControlPlaneSite
	// Skip are the IDs of checks that are not made.
	Skip []string
}

// Demand is the demand of a pool on a site.
type Demand struct {
	// Pool is the name of the pool.
	Pool string
	// Path is the path of the pool in the Shoot.
	Path *field.Path
	// MachineTypeName is the name of the pool's machine type.
	MachineTypeName string
	// MachineType is the pool's machine type on the site.
	MachineType *v1alpha1.SiteMachineType
	// Capacity is the capacity of the machine type on the site according to the CloudProfile.
	Capacity corev1.ResourceList
	// Image is the pool's machine image on the site, nil if the CloudProfile does not have it.
	Image *v1alpha1.SiteMachineImage
	// Architecture is the architecture of the pool's machines.
	Architecture string
	// Settings are the pool's settings for the site, empty if there are none.
	Settings v1alpha1.WorkerSite
	// VolumeType is the type of the root volume on the site, nil if the machines do not boot from a volume.
	VolumeType *v1alpha1.SiteVolumeType
	// VolumeSize is the size of the root volume in GiB, zero if the machines do not boot from a volume.
	VolumeSize int
	// DataVolumes are the pool's data volumes on the site.
	DataVolumes []DataVolume
	// VolumeSizes are the sizes of all volumes of a machine in GiB.
	VolumeSizes []int
	// Minimum and Maximum are the limits of the number of the pool's machines on the site.
	Minimum, Maximum int32
	// Zones are the pool's zones on the site. Their limits add up to those of the site.
	Zones []ZoneDemand
}

// ZoneDemand is the demand of a pool in a zone.
type ZoneDemand struct {
	// Name is the name of the zone.
	Name string
	// Minimum and Maximum are the limits of the number of the pool's machines in the zone.
	Minimum, Maximum int32
}

// ErrNoAccess means that a site could not be accessed, because it refuses the credentials or cannot be reached with the configuration.
var ErrNoAccess = errors.New("no access")

// Persist writes the state of one site.
type Persist func(ctx context.Context, state *v1alpha1.SiteState) error
