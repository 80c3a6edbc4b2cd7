// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package manila

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// Name is the name of the driver. It is that of cloud-provider-openstack's driver for the same protocol, so volumes that are moved to a
// shoot keep their driver.
const Name = "nfs.manila.csi.openstack.org"

// Identity describes the driver.
type Identity struct {
	csi.UnimplementedIdentityServer
	// Version is the version of the driver.
	Version string
}

// GetPluginInfo implements csi.IdentityServer.
func (i *Identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: i.Version}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (*Identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := func(kind csi.PluginCapability_Service_Type) *csi.PluginCapability {
		return &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: kind}}}
	}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		service(csi.PluginCapability_Service_CONTROLLER_SERVICE),
		service(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS),
		{Type: &csi.PluginCapability_VolumeExpansion_{
			VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE},
		}},
	}}, nil
}

// Probe implements csi.IdentityServer. A response without more means that the driver is ready.
func (*Identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}
