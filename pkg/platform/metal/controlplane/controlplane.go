// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane says what bare-metal sites need in the control plane of a shoot and in the shoot itself.
package controlplane

import (
	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
)

const (
	// chartName is the name of the charts of local volumes.
	chartName = "local-volumes"
	// serviceAccount is what the provisioner of local volumes is in the shoot.
	serviceAccount = "local-volumes-controller"
)

type controlPlane struct{}

// New returns the ControlPlane part of the bare-metal platform.
func New() platform.ControlPlane {
	return controlPlane{}
}

// CloudController implements platform.ControlPlane.
func (controlPlane) CloudController(s platform.ControlPlaneSite) (_ *v1alpha1.CloudControllerSite, err error) {
	defer platform.NameSite(s.Site.Name, &err)
	if s.Site.Profile == nil || s.Site.Profile.Metal == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has a bare-metal site of this name")
	}
	controller := &v1alpha1.MetalCloudController{Connection: client.ConnectionOf(s.Site.Profile)}
	for _, zone := range s.Site.Profile.Zones {
		if zone.Metal == nil {
			return nil, platform.NewError(platform.ClassConfiguration, "zone %q has no metal block in the CloudProfile", zone.Name)
		}
		controller.Zones = append(controller.Zones, v1alpha1.MetalCloudControllerZone{Name: zone.Name, HostSelector: zone.Metal.HostSelector})
	}
	if s.Status != nil && s.Status.Metal != nil {
		controller.NamespaceUID = s.Status.Metal.NamespaceUID
	}
	return &v1alpha1.CloudControllerSite{Name: s.Site.Name, Metal: controller}, nil
}

// StorageChart implements platform.ControlPlane.
func (controlPlane) StorageChart() platform.SubChart {
	return platform.SubChart{
		Name:               chartName,
		ControlPlaneImages: []string{imagevector.ImageNameLocalPathProvisioner, imagevector.ImageNameLocalPathHelper},
		AccessSecrets:      []string{serviceAccount},
	}
}
