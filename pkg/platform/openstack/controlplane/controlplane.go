// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package controlplane describes what OpenStack sites need in the control plane of a shoot and in the shoot itself.
package controlplane

import (
	"github.com/gardener/gardener-extension-provider-hybrid/imagevector"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

const (
	// chartName is the name of the storage driver's charts, and the prefix of its configuration Secret's name.
	chartName = "csi-cinder"
	// serviceAccount is the identity of the driver's Deployment in the shoot.
	serviceAccount = "csi-cinder-controller"
)

type controlPlane struct{}

// New returns the ControlPlane part of the OpenStack platform.
func New() platform.ControlPlane {
	return controlPlane{}
}

// CloudController implements platform.ControlPlane.
func (controlPlane) CloudController(s platform.ControlPlaneSite) (_ *v1alpha1.CloudControllerSite, err error) {
	defer platform.NameSite(s.Site.Name, &err)
	if err := check(s); err != nil {
		return nil, err
	}
	balancer, err := loadBalancer(s)
	if err != nil {
		return nil, err
	}
	controller := &v1alpha1.OpenStackCloudController{
		Connection:   client.ConnectionOf(s.Site.Profile),
		ProjectID:    s.Status.OpenStack.ProjectID,
		Region:       s.Status.OpenStack.Region,
		LoadBalancer: balancer,
	}
	for _, zone := range s.Site.Profile.Zones {
		if zone.OpenStack == nil {
			return nil, platform.NewError(platform.ClassConfiguration, "zone %q has no openstack block in the CloudProfile", zone.Name)
		}
		controller.Zones = append(controller.Zones,
			v1alpha1.OpenStackCloudControllerZone{Name: zone.Name, AvailabilityZone: zone.OpenStack.AvailabilityZone})
	}
	return &v1alpha1.CloudControllerSite{Name: s.Site.Name, OpenStack: controller}, nil
}

// StorageChart implements platform.ControlPlane.
func (controlPlane) StorageChart() platform.SubChart {
	return platform.SubChart{
		Name: chartName,
		ControlPlaneImages: []string{
			imagevector.ImageNameCinderCSIPlugin,
			imagevector.ImageNameCSIProvisioner,
			imagevector.ImageNameCSIAttacher,
			imagevector.ImageNameCSIResizer,
			imagevector.ImageNameCSISnapshotter,
			imagevector.ImageNameCSILivenessProbe,
		},
		ShootImages: []string{
			imagevector.ImageNameCinderCSIPlugin,
			imagevector.ImageNameCSINodeDriverRegistrar,
			imagevector.ImageNameCSILivenessProbe,
		},
		AccessSecrets: []string{serviceAccount},
		Further: &platform.SubChart{
			Name: sharesChartName,
			ControlPlaneImages: []string{
				imagevector.ImageNameManilaCSIPlugin,
				imagevector.ImageNameCSIProvisioner,
				imagevector.ImageNameCSIResizer,
				imagevector.ImageNameCSILivenessProbe,
			},
			ShootImages: []string{
				imagevector.ImageNameNFSCSIPlugin,
				imagevector.ImageNameCSINodeDriverRegistrar,
				imagevector.ImageNameCSILivenessProbe,
			},
			AccessSecrets: []string{sharesServiceAccount},
		},
	}
}

// check returns an error if the CloudProfile or the Infrastructure lacks information about the site.
func check(s platform.ControlPlaneSite) error {
	switch {
	case s.Site.Profile == nil || s.Site.Profile.OpenStack == nil:
		return client.ErrNoProfile
	case s.Status == nil || s.Status.OpenStack == nil:
		return platform.NewError(platform.ClassConfiguration, "the Infrastructure's providerStatus has no such site")
	default:
		return nil
	}
}
