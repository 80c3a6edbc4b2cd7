// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/floatingip"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// maxUserData is the compute API's limit for user data before encoding, in bytes.
const maxUserData = 65535 / 4 * 3

// Create implements platform.Machines. The port is created first and complete, so that the server never runs without it. An existing port
// means that an earlier call was interrupted; only then may a server exist already.
func (m *machines) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	created, err := platform.Perform(ctx, request, m.call, (*call).create)
	if err != nil {
		return platform.Machine{}, err
	}
	return created.machine(), nil
}

func (c *call) create(ctx context.Context) (*server, error) {
	if size := len(c.request.UserData); size > maxUserData {
		return nil, platform.NewError(platform.ClassConfiguration, "user data has %d bytes, the compute API takes at most %d", size, maxUserData)
	}

	existing, err := c.ownPorts(ctx)
	if err != nil {
		return nil, err
	}
	if len(existing) > 0 {
		found, err := c.findLive(ctx, existing, "")
		if err != nil || found != nil && !found.gone() {
			return found, err
		}
	}
	free := slices.IndexFunc(existing, func(port ports.Port) bool { return port.DeviceID == "" })
	if free < 0 {
		port, err := c.createPort(ctx)
		if err != nil {
			return nil, err
		}
		existing, free = []ports.Port{*port}, -1
	}
	port := &existing[max(free, 0)]
	if err := c.ensureFloatingIP(ctx, port, free < 0); err != nil {
		return nil, err
	}
	return c.createServer(ctx, port)
}

// ownPorts lists the ports that were created for the machine: those with its name and our mark.
func (c *call) ownPorts(ctx context.Context) ([]ports.Port, error) {
	return client.List(ctx, ports.List(c.network, ports.ListOpts{Name: c.request.Name, Description: c.owner.Description()}),
		ports.ExtractPorts)
}

func (c *call) createPort(ctx context.Context) (*ports.Port, error) {
	spec := c.request.Spec.OpenStack
	port, err := client.Extracted(ports.Create(ctx, c.network, ports.CreateOpts{
		Name:                c.request.Name,
		Description:         c.owner.Description(),
		NetworkID:           spec.NetworkID,
		FixedIPs:            []ports.IP{{SubnetID: spec.SubnetID}},
		SecurityGroups:      &spec.SecurityGroupIDs,
		AllowedAddressPairs: lists.Map(spec.PodCIDRs, func(cidr string) ports.AddressPair { return ports.AddressPair{IPAddress: cidr} }),
	}).Extract())
	if err != nil && platform.ClassOf(err) == platform.ClassTransient {
		c.unanswered.Store(c.request.Name, true)
	}
	return port, err
}

// ensureFloatingIP gives the port a floating IP if the machine has one. A port that was just created has none yet.
func (c *call) ensureFloatingIP(ctx context.Context, port *ports.Port, created bool) (err error) {
	spec := c.request.Spec.OpenStack
	if spec.FloatingNetworkID == "" {
		return nil
	}
	wanted := floatingip.Wanted{Description: c.owner.MachineDescription(c.request.Name), NetworkID: spec.FloatingNetworkID,
		SubnetID: spec.FloatingSubnetID, PortID: port.ID}
	if created {
		_, err = floatingip.Create(ctx, c.network, wanted)
	} else {
		_, err = floatingip.Ensure(ctx, c.network, wanted)
	}
	return err
}

func (c *call) createServer(ctx context.Context, port *ports.Port) (*server, error) {
	spec := c.request.Spec.OpenStack
	metadata := maps.Clone(spec.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	maps.Copy(metadata, c.owner.Metadata())
	metadata[owner.MetadataMachine] = c.request.Name
	metadata[owner.MetadataPort] = port.ID
	if spec.FloatingNetworkID != "" {
		metadata[owner.MetadataFloatingIP] = "true"
	}
	if _, more := c.unanswered.Load(c.request.Name); more {
		metadata[owner.MetadataMorePorts] = "true"
	}

	compute := *c.compute
	options := servers.CreateOpts{
		Name:             c.request.Name,
		FlavorRef:        spec.FlavorID,
		ImageRef:         spec.ImageID,
		AvailabilityZone: spec.AvailabilityZone,
		Networks:         []servers.Network{{Port: port.ID}},
		Metadata:         metadata,
		UserData:         encode(c.request.UserData),
		BlockDevice:      blockDevices(spec),
	}
	if spec.RootDisk != nil {
		options.ImageRef = ""
	}
	if options.BlockDevice != nil {
		compute.Microversion = client.VolumeTypeMicroversion
	}
	var hints servers.SchedulerHintOptsBuilder
	if spec.ServerGroupID != "" {
		hints = servers.SchedulerHintOpts{Group: spec.ServerGroupID}
	}
	created := &server{}
	err := servers.Create(ctx, &compute, keypairs.CreateOptsExt{CreateOptsBuilder: options, KeyName: spec.KeyName}, hints).ExtractInto(created)
	if _, err := client.Extracted(created, err); err != nil {
		return nil, err
	}
	created.Name, created.Status, created.Task, created.Metadata = c.request.Name, statusBuild, taskScheduling, metadata
	created.Addresses = map[string][]address{spec.NetworkID: addressesOf(port)}
	c.snapshot.add(created)
	return created, nil
}

func addressesOf(port *ports.Port) []address {
	return lists.Map(port.FixedIPs, func(ip ports.IP) address { return address{Address: ip.IPAddress} })
}

// encode encodes the user data. The client would not encode data that happens to be valid base64.
func encode(userData []byte) []byte {
	return base64.StdEncoding.AppendEncode(nil, userData)
}

// noBoot is the boot index of non-bootable disks.
const noBoot = -1

// blockDevices returns the disks of a server, or nil if the flavor's disk is the only one. All of them are deleted with the server.
func blockDevices(spec *v1alpha1.OpenStackMachineSpec) []servers.BlockDevice {
	if spec.RootDisk == nil && len(spec.DataDisks) == 0 {
		return nil
	}
	devices := []servers.BlockDevice{rootDevice(spec)}
	for _, disk := range spec.DataDisks {
		devices = append(devices, servers.BlockDevice{
			SourceType:          servers.SourceBlank,
			DestinationType:     servers.DestinationVolume,
			BootIndex:           noBoot,
			VolumeSize:          disk.Size,
			VolumeType:          disk.Type,
			DeleteOnTermination: true,
		})
	}
	return devices
}

// rootDevice is the disk with the image: a volume, or the flavor's disk, which must be listed as soon as there are others.
func rootDevice(spec *v1alpha1.OpenStackMachineSpec) servers.BlockDevice {
	root := servers.BlockDevice{
		SourceType:          servers.SourceImage,
		UUID:                spec.ImageID,
		DestinationType:     servers.DestinationLocal,
		DeleteOnTermination: true,
	}
	if spec.RootDisk != nil {
		root.DestinationType = servers.DestinationVolume
		root.VolumeSize = spec.RootDisk.Size
		root.VolumeType = spec.RootDisk.Type
	}
	return root
}
