// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Infrastructure makes and removes what a site needs before it can have machines. The Infrastructure controller uses it.
type Infrastructure interface {
	// Validate looks for mistakes that only the site can tell: missing objects, too small quotas, missing roles. It changes
	// nothing. The error says that the site could not be asked; it is classified.
	Validate(ctx context.Context, s *site.Site, request ValidationRequest) (Findings, error)
	// Reconcile creates, adopts and updates the site's objects. It calls persist with the state after every created object,
	// and stops if persist fails. Errors are classified.
	Reconcile(ctx context.Context, s *site.Site, persist Persist) (*v1alpha1.SiteStatus, error)
	// Delete deletes the site's objects that are ours, also those that the state does not know, and calls persist with the
	// state after every deleted object. Errors are classified, and wrap ErrNoAccess if the site could not be looked at at all.
	Delete(ctx context.Context, s *site.Site, persist Persist) error
	// Orphans lists the objects of the shoot that exist in the site, also those that the state does not know. It changes
	// nothing. Errors are classified.
	Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error)
}

// ValidationRequest is what a site is validated for.
type ValidationRequest struct {
	// Path is the path of the site in the InfrastructureConfig.
	Path *field.Path
	// Demands are what the shoot's pools may ask of the site.
	Demands []Demand
}

// Demand is what a pool may ask of a site.
type Demand struct {
	// Pool is the name of the pool.
	Pool string
	// Path is the path of the pool in the Shoot.
	Path *field.Path
	// MachineTypeName is the name of the pool's machine type.
	MachineTypeName string
	// MachineType is the pool's machine type on the site.
	MachineType *v1alpha1.SiteMachineType
	// Settings are the pool's settings for the site, empty if there are none.
	Settings v1alpha1.WorkerSite
	// VolumeType is the type of the root volume on the site, nil if the machines do not boot from a volume.
	VolumeType *v1alpha1.SiteVolumeType
	// VolumeSizes are the sizes of all volumes of a machine in GiB.
	VolumeSizes []int
	// Minimum and Maximum are how many machines the pool has at least and at most on the site.
	Minimum, Maximum int32
	// Zones are the pool's zones on the site. Their numbers add up to those of the site.
	Zones []ZoneDemand
}

// ZoneDemand is what a pool may ask of a zone.
type ZoneDemand struct {
	// Name is the name of the zone.
	Name string
	// Minimum and Maximum are how many machines the pool has at least and at most in the zone.
	Minimum, Maximum int32
}

// Findings are the result of a validation.
type Findings struct {
	// Errors are mistakes that keep the site from being used. They name the field. On a site that is in use already those below
	// the path of a Demand keep only its pool from having machines.
	Errors field.ErrorList
	// Shortages are quotas that do not suffice for what the pools have at least. They keep the site from being used. They name
	// the field.
	Shortages field.ErrorList
	// Warnings are what may become a problem, such as a quota that does not suffice for the pools' maxima. They name the field.
	Warnings []string
}

// Err returns what keeps the site from being used, nil if that is nothing: mistakes are of ClassConfiguration, shortages of
// ClassQuota.
func (f Findings) Err() error {
	return errors.Join(found(ClassConfiguration, f.Errors), found(ClassQuota, f.Shortages))
}

func found(class Class, problems field.ErrorList) error {
	errs := make([]error, len(problems))
	for i := range problems {
		errs[i] = &Error{Class: class, Err: problems[i]}
	}
	return errors.Join(errs...)
}

// ErrNoAccess means that a site could not be looked at, because it does not accept the credentials or is not reached with the
// configuration.
var ErrNoAccess = errors.New("no access")

// Persist writes the state of one site.
type Persist func(ctx context.Context, state *v1alpha1.SiteState) error
