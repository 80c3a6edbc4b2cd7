// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"encoding/base64"
	"maps"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// maxUserData is the limit of the compute API for user data before it is encoded, in bytes.
const maxUserData = 65535 / 4 * 3

// Create implements platform.Machines. The port comes first and has everything from the start, so that there is no moment
// in which the server runs without it. A port that is already there tells that an earlier call was interrupted; only then
// is there a server to look for.
func (m *machines) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	c, err := m.call(ctx, request)
	if err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	server, err := c.create(ctx)
	if err != nil {
		return platform.Machine{}, platform.InSite(request.Spec.Site, err)
	}
	return platform.Machine{Name: request.Name, ProviderID: providerIDPrefix + server.ID}, nil
}

func (c *call) create(ctx context.Context) (*servers.Server, error) {
	if size := len(c.request.UserData); size > maxUserData {
		return nil, platform.NewError(platform.ClassConfiguration, "user data has %d bytes, the compute API takes at most %d", size, maxUserData)
	}

	existing, err := c.ownPorts(ctx)
	if err != nil {
		return nil, err
	}
	if len(existing) == 0 {
		port, err := c.createPort(ctx)
		if err != nil {
			return nil, err
		}
		return c.createServer(ctx, port.ID)
	}

	server, err := c.findByName(ctx)
	if err != nil || server != nil {
		return server, err
	}
	return c.createServer(ctx, existing[0].ID)
}

// ownPorts are the ports that were made for the machine: they have its name and our mark.
func (c *call) ownPorts(ctx context.Context) ([]ports.Port, error) {
	return client.List(ctx, ports.List(c.network, ports.ListOpts{Name: c.request.Name, Description: c.owner.Description()}), ports.ExtractPorts)
}

func (c *call) createPort(ctx context.Context) (*ports.Port, error) {
	spec := c.request.Spec.OpenStack
	var pairs []ports.AddressPair
	for _, cidr := range spec.PodCIDRs {
		pairs = append(pairs, ports.AddressPair{IPAddress: cidr})
	}
	port, err := ports.Create(ctx, c.network, ports.CreateOpts{
		Name:                c.request.Name,
		Description:         c.owner.Description(),
		NetworkID:           spec.NetworkID,
		FixedIPs:            []ports.IP{{SubnetID: spec.SubnetID}},
		SecurityGroups:      &spec.SecurityGroupIDs,
		AllowedAddressPairs: pairs,
	}).Extract()
	return port, client.Classify(err)
}

func (c *call) createServer(ctx context.Context, portID string) (*servers.Server, error) {
	spec := c.request.Spec.OpenStack
	metadata := maps.Clone(spec.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	maps.Copy(metadata, c.owner.Metadata())
	metadata[owner.MetadataPort] = portID

	compute := *c.compute
	options := servers.CreateOpts{
		Name:             c.request.Name,
		FlavorRef:        spec.FlavorID,
		ImageRef:         spec.ImageID,
		AvailabilityZone: spec.AvailabilityZone,
		Networks:         []servers.Network{{Port: portID}},
		Metadata:         metadata,
		UserData:         encode(c.request.UserData),
	}
	if disk := spec.RootDisk; disk != nil {
		options.ImageRef = ""
		options.BlockDevice = []servers.BlockDevice{rootVolume(spec.ImageID, disk)}
		compute.Microversion = client.VolumeTypeMicroversion
	}
	server, err := servers.Create(ctx, &compute, keypairs.CreateOptsExt{CreateOptsBuilder: options, KeyName: spec.KeyName}, nil).Extract()
	if err != nil {
		return nil, client.Classify(err)
	}
	c.snapshot.add(&servers.Server{ID: server.ID, Name: c.request.Name, Status: statusBuild, Metadata: metadata})
	return server, nil
}

// encode encodes the user data. The client would leave it as it is if it happens to be valid base64.
func encode(userData []byte) []byte {
	return base64.StdEncoding.AppendEncode(nil, userData)
}

func rootVolume(imageID string, disk *v1alpha1.OpenStackRootDisk) servers.BlockDevice {
	return servers.BlockDevice{
		SourceType:          servers.SourceImage,
		UUID:                imageID,
		DestinationType:     servers.DestinationVolume,
		VolumeSize:          disk.Size,
		VolumeType:          disk.Type,
		DeleteOnTermination: true,
	}
}
