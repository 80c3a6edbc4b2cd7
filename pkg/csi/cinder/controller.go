// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cinder serves CSI for the volumes of all OpenStack sites of a shoot. What is done with volumes is the work of
// cloud-provider-openstack's driver, used as a library. This package decides which site a request is for, opens sites when they
// are needed, and tells what can pass from what cannot.
package cinder

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	driver "k8s.io/cloud-provider-openstack/pkg/csi/cinder"
	library "k8s.io/cloud-provider-openstack/pkg/csi/cinder/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// siteKey is the key of the secrets of a request that names the site of the volume.
const siteKey = "cloud"

// Controller is the controller service for all sites. Each request gets a controller of the library's driver that knows the
// request's site alone, because that is given all of its clouds when it is made.
type Controller struct {
	csi.UnimplementedControllerServer

	driver  *driver.Driver
	clouds  *Clouds
	cluster owner.Owner
}

// NewController returns the controller service of the driver. It refuses what bears the mark of another cluster than the one with the
// name: the technical ID of the shoot. Without a name it refuses nothing.
func NewController(d *driver.Driver, clouds *Clouds, cluster string) *Controller {
	return &Controller{driver: d, clouds: clouds, cluster: owner.Owner{Shoot: cluster}}
}

// request is one that says for which site it is.
type request interface {
	GetSecrets() map[string]string
}

// atSite calls a method of the library's driver for the site of the request.
func atSite[Q request, A any](ctx context.Context, c *Controller, r Q, method func(csi.ControllerServer, context.Context, Q) (A, error)) (A,
	error) {
	return at(ctx, c, r.GetSecrets()[siteKey], r, method)
}

func at[Q, A any](ctx context.Context, c *Controller, name string, r Q,
	method func(csi.ControllerServer, context.Context, Q) (A, error)) (A, error) {
	var none A
	cloud, err := c.clouds.Open(ctx, name)
	if err != nil {
		return none, openStatus(err)
	}
	w := &watched{IOpenStack: cloud, cluster: c.cluster}
	answer, err := method(driver.NewControllerServer(c.driver, map[string]library.IOpenStack{name: w}), ctx, r)
	if err != nil {
		return none, callStatus(name, err, w.class)
	}
	return answer, nil
}

// openStatus is the answer for a site that is not open. Whatever the reason: what an earlier request began may go on there, so the
// caller has to ask again.
func openStatus(err error) error {
	if platform.ClassOf(err) == platform.ClassNotFound {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return status.Error(codes.Unavailable, err.Error())
}

// callStatus is the answer for a request that failed at a site. The library's driver calls most failures internal, and a caller
// takes that for the end: csi-provisioner forgets a volume that may exist. So the site is unavailable if the problem can pass.
func callStatus(name string, err error, class platform.Class) error {
	said := status.Convert(err)
	code := said.Code()
	if code == codes.Internal || code == codes.Unknown {
		switch class {
		case platform.ClassTransient, platform.ClassUnauthenticated:
			code = codes.Unavailable
		case platform.ClassQuota, platform.ClassExhausted:
			code = codes.ResourceExhausted
		case platform.ClassForbidden:
			code = codes.PermissionDenied
		}
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

// ListVolumes implements csi.ControllerServer. It fails if a site cannot be asked: csi-attacher takes what is not in the list
// for detached.
func (c *Controller) ListVolumes(ctx context.Context, r *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	names, err := c.clouds.Names()
	if err != nil {
		return nil, openStatus(err)
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
		clouds[name] = &watched{IOpenStack: cloud}
	}
	answer, err := driver.NewControllerServer(c.driver, clouds).ListVolumes(ctx, r)
	if err != nil {
		failed := names[len(names)-1] // the sites are asked one after the other
		for _, name := range names {
			if site := clouds[name].(*watched); site.class != "" {
				failed = name
				break
			}
		}
		return nil, callStatus(failed, err, clouds[failed].(*watched).class)
	}
	return answer, nil
}

// ControllerGetVolume implements csi.ControllerServer. The request does not say the site, so all are asked; that a volume does not
// exist is said only if all said so.
func (c *Controller) ControllerGetVolume(ctx context.Context, r *csi.ControllerGetVolumeRequest) (*csi.ControllerGetVolumeResponse, error) {
	names, err := c.clouds.Names()
	if err != nil {
		return nil, openStatus(err)
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
