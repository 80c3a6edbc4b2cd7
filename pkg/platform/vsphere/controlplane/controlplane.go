// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane provides what vSphere sites need in the control plane of a shoot: the cloud-controller-manager's view of a site,
// and the configuration of the vSphere CSI driver, which is one for all vCenters.
package controlplane

import (
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// Chart is the name of the sub-charts of the CSI driver.
const Chart = "csi-vsphere"

type controlPlane struct{}

// New returns the ControlPlane part of the vSphere platform.
func New() platform.ControlPlane {
	return controlPlane{}
}

// CloudController implements platform.ControlPlane.
func (controlPlane) CloudController(s platform.ControlPlaneSite) (_ *v1alpha1.CloudControllerSite, err error) {
	defer platform.NameSite(s.Site.Name, &err)
	if err := checkProfile(s); err != nil {
		return nil, err
	}
	if s.Status == nil || s.Status.VSphere == nil {
		return nil, mistake("the Infrastructure's providerStatus does not say where the shoot's virtual machines are")
	}
	result := &v1alpha1.VSphereCloudController{Connection: client.ConnectionOf(s.Site.Profile, s.Status.VSphere.InstanceUUID)}
	for _, zone := range s.Status.VSphere.Zones {
		result.Zones = append(result.Zones, v1alpha1.VSphereCloudControllerZone{
			Name:           zone.Name,
			ComputeCluster: zone.ComputeCluster,
			ResourcePool:   zone.ResourcePool,
			Folder:         zone.Folder,
		})
	}
	return &v1alpha1.CloudControllerSite{Name: s.Site.Name, VSphere: result}, nil
}

func checkProfile(s platform.ControlPlaneSite) error {
	if s.Site.Profile == nil || s.Site.Profile.VSphere == nil {
		return mistake("the CloudProfile no longer has a vSphere site of this name")
	}
	return nil
}

func mistake(format string, args ...any) error {
	return platform.NewError(platform.ClassConfiguration, format, args...)
}
