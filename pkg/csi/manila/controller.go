// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package manila serves CSI for the shares of all OpenStack sites of a shoot. Its volumes have the context of csi-driver-nfs, whose node
// service mounts them: no node has credentials.
package manila

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	drivers "github.com/gardener/gardener-extension-provider-hybrid/pkg/csi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	// operationTimeout limits a request. It is shorter than the timeouts of the sidecars, so they learn how far it got.
	operationTimeout = 150 * time.Second
	gibibyte         = 1 << 30
	// maxName is the maximum length of the name of a share.
	maxName = 255

	// Parameters of storage classes.
	parameterType         = "type"
	parameterAvailability = "availability"
	// parameterSidecars is the prefix of the parameters that the sidecars add.
	parameterSidecars = "csi.storage.k8s.io/"

	// Keys of the context of volumes, which are those of csi-driver-nfs.
	contextServer = "server"
	contextShare  = "share"
)

// Controller is the controller service for all sites.
type Controller struct {
	csi.UnimplementedControllerServer

	clouds  *drivers.Clouds[*Cloud]
	cluster owner.Owner
	// creating are the names of volumes that are being created.
	creating sync.Map
}

// NewController returns the controller service. It uses shares alone that bear the mark of the cluster, which is the technical ID of the
// shoot.
func NewController(clouds *drivers.Clouds[*Cloud], cluster string) *Controller {
	return &Controller{clouds: clouds, cluster: owner.Owner{Shoot: cluster}}
}

// open returns the operation for a request with the secrets.
func (c *Controller) open(ctx context.Context, secrets map[string]string) (*operation, string, error) {
	name := secrets[drivers.SiteKey]
	cloud, err := c.clouds.Open(ctx, name)
	if err != nil {
		return nil, name, drivers.OpenStatus(err)
	}
	return &operation{Cloud: cloud, cluster: c.cluster}, name, nil
}

// failed returns the response for a request that failed at a site.
func failed(site string, err error) error {
	code := codes.Internal
	switch platform.ClassOf(err) {
	case platform.ClassConfiguration:
		code = codes.InvalidArgument
	case platform.ClassNotFound:
		code = codes.NotFound
	}
	return status.Error(drivers.CodeOf(platform.ClassOf(err), code), platform.InSite(site, err).Error())
}

// CreateVolume implements csi.ControllerServer.
func (c *Controller) CreateVolume(ctx context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	opts, err := c.createOpts(r)
	if err != nil {
		return nil, err
	}
	if _, busy := c.creating.LoadOrStore(opts.Name, true); busy {
		return nil, status.Errorf(codes.Aborted, "volume %q is being created", opts.Name)
	}
	defer c.creating.Delete(opts.Name)
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	o, site, err := c.open(ctx, r.GetSecrets())
	if err != nil {
		return nil, err
	}
	if o.network == "" || len(o.clients) == 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "site %q has no share network", site)
	}
	opts.ShareNetworkID = o.network

	share, err := o.find(ctx, opts.Name)
	if err != nil {
		return nil, failed(site, err)
	}
	if share == nil {
		if share, err = client.Extracted(shares.Create(ctx, o.service, opts).Extract()); err != nil {
			return nil, failed(site, err)
		}
	} else if share.Size != opts.Size || share.ShareProto != protocol || share.ShareNetworkID != opts.ShareNetworkID {
		return nil, status.Errorf(codes.AlreadyExists, "site %q: share %q has the name, and another size, protocol or share network", site,
			share.ID)
	}
	volume, err := c.complete(ctx, o, share.ID)
	switch {
	case platform.ClassOf(err) == platform.ClassExhausted:
		return nil, failed(site, err)
	case err != nil:
		// The share exists. Callers may forget it after another code.
		return nil, status.Error(codes.Unavailable, platform.InSite(site, err).Error())
	}
	volume.AccessibleTopology = []*csi.Topology{{Segments: map[string]string{v1alpha1.LabelSite: site}}}
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

// complete waits until a share can be used, lets the nodes mount it, and returns its volume. A share that failed is deleted; the error is
// then of ClassExhausted, once it is gone.
func (c *Controller) complete(ctx context.Context, o *operation, id string) (*csi.Volume, error) {
	if !isID(id) {
		return nil, platform.NewError(platform.ClassTransient, "the response has a share without a valid ID")
	}
	share, err := o.await(ctx, id, isSettled)
	if err != nil {
		return nil, err
	}
	if share.Status != statusAvailable {
		failure := o.unusable(ctx, share)
		if err := o.remove(ctx, id); err != nil {
			return nil, platform.NewError(platform.ClassTransient, "%w; it is not deleted yet: %w", failure, err)
		}
		return nil, failure
	}
	if err := o.grant(ctx, id); err != nil {
		return nil, err
	}
	from, err := o.export(ctx, id)
	if err != nil {
		return nil, err
	}
	return &csi.Volume{
		VolumeId:      id,
		CapacityBytes: int64(share.Size) * gibibyte,
		VolumeContext: map[string]string{contextServer: from.server, contextShare: from.path},
	}, nil
}

// createOpts returns the share that is to be created.
func (c *Controller) createOpts(r *csi.CreateVolumeRequest) (*shares.CreateOpts, error) {
	invalid := func(format string, args ...any) (*shares.CreateOpts, error) {
		return nil, status.Errorf(codes.InvalidArgument, format, args...)
	}
	switch name := r.GetName(); {
	case name == "" || len(name) > maxName:
		return invalid("the name of a volume must have 1 to %d bytes", maxName)
	case r.GetVolumeContentSource() != nil:
		return invalid("shares cannot be made from snapshots or other shares")
	}
	if problem := capabilityProblem(r.GetVolumeCapabilities()); problem != "" {
		return invalid("%s", problem)
	}
	size, err := sizeOf(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	opts := &shares.CreateOpts{Name: r.GetName(), Description: description, ShareProto: protocol, Size: size,
		Metadata: c.cluster.ShareMetadata()}
	for key, value := range r.GetParameters() {
		switch {
		case key == parameterType:
			opts.ShareType = value
		case key == parameterAvailability:
			opts.AvailabilityZone = value
		case strings.HasPrefix(key, parameterSidecars):
			opts.Metadata[key] = value
		default:
			return invalid("parameter %q is not supported", key)
		}
	}
	return opts, nil
}

// capabilityProblem returns why NFS cannot have the capabilities, empty if it can.
func capabilityProblem(capabilities []*csi.VolumeCapability) string {
	if len(capabilities) == 0 {
		return "volume capabilities are required"
	}
	for _, capability := range capabilities {
		mount := capability.GetMount()
		switch {
		case mount == nil:
			return "shares are mounted and cannot be used as block devices"
		case mount.GetFsType() != "" && mount.GetFsType() != "nfs":
			return fmt.Sprintf("file system %q is not supported", mount.GetFsType())
		case capability.GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_UNKNOWN:
			return "an access mode is required"
		}
	}
	return ""
}

// sizeOf returns the size of a share in GiB.
func sizeOf(capacity *csi.CapacityRange) (int, error) {
	required, limit := capacity.GetRequiredBytes(), capacity.GetLimitBytes()
	if required < 0 || limit < 0 {
		return 0, status.Error(codes.InvalidArgument, "capacities must not be negative")
	}
	size := max(required/gibibyte, 1)
	if required > size*gibibyte {
		size++
	}
	if size > math.MaxInt32 || limit > 0 && size > limit/gibibyte {
		return 0, status.Errorf(codes.OutOfRange, "no number of GiB is between %d and %d bytes", required, limit)
	}
	return int(size), nil
}

// isID reports whether the text is an ID of Manila.
func isID(text string) bool {
	return len(text) == len(uuid.UUID{}.String()) && uuid.Validate(text) == nil
}

// DeleteVolume implements csi.ControllerServer.
func (c *Controller) DeleteVolume(ctx context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	_, err := atShare(ctx, c, r, func(ctx context.Context, o *operation) (struct{}, error) {
		return struct{}{}, o.remove(ctx, r.GetVolumeId())
	})
	if err != nil {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ControllerExpandVolume implements csi.ControllerServer.
func (c *Controller) ControllerExpandVolume(ctx context.Context, r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse,
	error) {
	wanted, err := sizeOf(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	size, err := atShare(ctx, c, r, func(ctx context.Context, o *operation) (int, error) { return o.extend(ctx, r.GetVolumeId(), wanted) })
	if err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: int64(size) * gibibyte}, nil
}

// ValidateVolumeCapabilities implements csi.ControllerServer.
func (c *Controller) ValidateVolumeCapabilities(ctx context.Context,
	r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	_, err := atShare(ctx, c, r, func(ctx context.Context, o *operation) (*shares.Share, error) { return o.get(ctx, r.GetVolumeId()) })
	if err != nil {
		return nil, err
	}
	if problem := capabilityProblem(r.GetVolumeCapabilities()); problem != "" {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: problem}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: r.GetVolumeContext(), VolumeCapabilities: r.GetVolumeCapabilities(), Parameters: r.GetParameters(),
	}}, nil
}

// shareRequest is a request for a share that exists.
type shareRequest interface {
	GetSecrets() map[string]string
	GetVolumeId() string
}

// atShare calls do for the share of the request.
func atShare[A any](ctx context.Context, c *Controller, r shareRequest, do func(context.Context, *operation) (A, error)) (A, error) {
	var none A
	if !isID(r.GetVolumeId()) {
		return none, status.Error(codes.InvalidArgument, "the ID of the volume is not that of a share")
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	o, site, err := c.open(ctx, r.GetSecrets())
	if err != nil {
		return none, err
	}
	answer, err := do(ctx, o)
	if err != nil {
		return none, failed(site, err)
	}
	return answer, nil
}

var capabilities = []csi.ControllerServiceCapability_RPC_Type{
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
	csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (c *Controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (
	*csi.ControllerGetCapabilitiesResponse, error) {
	return &csi.ControllerGetCapabilitiesResponse{
		Capabilities: lists.Map(capabilities, func(kind csi.ControllerServiceCapability_RPC_Type) *csi.ControllerServiceCapability {
			return &csi.ControllerServiceCapability{
				Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}},
			}
		}),
	}, nil
}
