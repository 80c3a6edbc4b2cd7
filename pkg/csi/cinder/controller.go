// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cinder serves CSI for the volumes of all OpenStack sites of a shoot. Volumes are managed by cloud-provider-openstack's driver,
// which is used as a library. This package selects the site of a request, opens sites on demand, and distinguishes temporary from permanent
// errors.
package cinder

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	driver "k8s.io/cloud-provider-openstack/pkg/csi/cinder"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// Controller is the controller service for all sites. Each request gets its own controller of the library's driver with only the request's
// site, because the driver takes all of its clouds at creation.
type Controller struct {
	csi.UnimplementedControllerServer

	driver  *driver.Driver
	clouds  *drivers.Clouds[library.IOpenStack]
	cluster owner.Owner
}

// NewController returns the controller service of the driver. It rejects objects that bear the mark of another cluster than the given one,
// which is the technical ID of the shoot. With an empty name it accepts all objects.
func NewController(d *driver.Driver, clouds *drivers.Clouds[library.IOpenStack], cluster string) *Controller {
	return &Controller{driver: d, clouds: clouds, cluster: owner.Owner{Shoot: cluster}}
}

// request is a request that names its site.
type request interface {
	GetSecrets() map[string]string
}

// atSite calls a method of the library's driver for the site of the request.
func atSite[Q request, A any](ctx context.Context, c *Controller, r Q, method func(csi.ControllerServer, context.Context, Q) (A, error)) (A,
	error) {
	return at(ctx, c, r.GetSecrets()[drivers.SiteKey], r, method)
}

func at[Q, A any](ctx context.Context, c *Controller, name string, r Q,
	method func(csi.ControllerServer, context.Context, Q) (A, error)) (A, error) {
	var none A
	cloud, err := c.clouds.Open(ctx, name)
	if err != nil {
		return none, drivers.OpenStatus(err)
	}
	w := &guardedCloud{IOpenStack: cloud, cluster: c.cluster}
	answer, err := method(driver.NewControllerServer(c.driver, map[string]library.IOpenStack{name: w}), ctx, r)
	if err != nil {
		return none, callStatus(name, err, w.class)
	}
	return answer, nil
}

// callStatus returns the response for a request that failed at a site. The library's driver reports most failures as internal, which
// callers consider final: csi-provisioner forgets a volume that may exist. So the code is Unavailable for temporary errors.
func callStatus(name string, err error, class platform.Class) error {
	said := status.Convert(err)
	code := said.Code()
	if code == codes.Internal || code == codes.Unknown {
		code = drivers.CodeOf(class, code)
	}
	return status.Errorf(code, "site %q: %s", name, said.Message())
}

// CreateVolume implements csi.ControllerServer.
func (c *Controller) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.CreateVolume)
}

// DeleteVolume implements csi.ControllerServer.
func (c *Controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.DeleteVolume)
}

// ControllerPublishVolume implements csi.ControllerServer.
func (c *Controller) ControllerPublishVolume(ctx context.Context,
	r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.ControllerPublishVolume)
}

// ControllerUnpublishVolume implements csi.ControllerServer.
func (c *Controller) ControllerUnpublishVolume(ctx context.Context,
	r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.ControllerUnpublishVolume)
}

// ValidateVolumeCapabilities implements csi.ControllerServer.
func (c *Controller) ValidateVolumeCapabilities(ctx context.Context,
	r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.ValidateVolumeCapabilities)
}

// ControllerExpandVolume implements csi.ControllerServer.
func (c *Controller) ControllerExpandVolume(ctx context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse,
	error) {
	return atSite(ctx, c, r, csi.ControllerServer.ControllerExpandVolume)
}

// CreateSnapshot implements csi.ControllerServer.
func (c *Controller) CreateSnapshot(ctx context.Context, r *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.CreateSnapshot)
}

// DeleteSnapshot implements csi.ControllerServer.
func (c *Controller) DeleteSnapshot(ctx context.Context, r *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.DeleteSnapshot)
}

// ListSnapshots implements csi.ControllerServer.
func (c *Controller) ListSnapshots(ctx context.Context, r *csi.ListSnapshotsRequest) (*csi.ListSnapshotsResponse, error) {
	return atSite(ctx, c, r, csi.ControllerServer.ListSnapshots)
}

// ListVolumes implements csi.ControllerServer. It fails if any site fails: csi-attacher considers volumes that are not in the list
// detached.
func (c *Controller) ListVolumes(ctx context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	names, err := c.clouds.Names()
	if err != nil {
		return nil, drivers.OpenStatus(err)
	}
	if len(names) == 0 {
		return &csi.ListVolumesResponse{}, nil
	}
	clouds := map[string]library.IOpenStack{}
	for _, name := range names {
		cloud, err := c.clouds.Open(ctx, name)
		if err != nil {
			return nil, status.Error(codes.Unavailable, err.Error())
		}
		clouds[name] = &guardedCloud{IOpenStack: cloud}
	}
	answer, err := driver.NewControllerServer(c.driver, clouds).ListVolumes(ctx, r)
	if err != nil {
		failed := names[len(names)-1] // the sites are queried in order
		for _, name := range names {
			if site := clouds[name].(*guardedCloud); site.class != "" {
				failed = name
				break
			}
		}
		return nil, callStatus(failed, err, clouds[failed].(*guardedCloud).class)
	}
	return answer, nil
}

// ControllerGetVolume implements csi.ControllerServer. The request does not name the site, so all sites are queried; the volume is reported
// as not found only if all of them confirm it.
func (c *Controller) ControllerGetVolume(ctx context.Context, r *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	names, err := c.clouds.Names()
	if err != nil {
		return nil, drivers.OpenStatus(err)
	}
	var errs []error
	for _, name := range names {
		answer, err := at(ctx, c, name, r, csi.ControllerServer.ControllerGetVolume)
		switch status.Code(err) {
		case codes.OK, codes.InvalidArgument:
			return answer, err
		case codes.NotFound:
		default:
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, status.Error(codes.Unavailable, errors.Join(errs...).Error())
	}
	return nil, status.Errorf(codes.NotFound, "no site has volume %q", r.GetVolumeId())
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (c *Controller) ControllerGetCapabilities(ctx context.Context,
	r *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	return driver.NewControllerServer(c.driver, nil).ControllerGetCapabilities(ctx, r)
}
