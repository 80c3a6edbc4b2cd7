// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// cloudControllers returns the configuration of the cloud-controller-manager for all sites.
func (p *planner) cloudControllers(region, shoot string, plan *plan) (*v1alpha1.CloudControllerManagerConfiguration, error) {
	var (
		config  = &v1alpha1.CloudControllerManagerConfiguration{Shoot: shoot, Region: region, Sites: []v1alpha1.CloudControllerSite{}}
		drivers = map[v1alpha1.Platform]string{}
		errs    []error
	)
	for _, s := range plan.storages {
		drivers[s.platform] = s.CSIDriver
	}
	for _, s := range plan.sites {
		controller, err := p.cloudController(&s, drivers[s.Site.Platform])
		if err != nil {
			errs = append(errs, platform.InSite(s.Site.Name, err))
			continue
		}
		if s.Site.Name == plan.defaultSite {
			config.DefaultSite = plan.defaultSite
		}
		config.Sites = append(config.Sites, *controller)
	}
	v1alpha1.SetCloudControllerManagerConfigurationDefaults(config)
	return config, errors.Join(errs...)
}

func (p *planner) cloudController(s *controlPlaneSite, driver string) (*v1alpha1.CloudControllerSite, error) {
	part, err := p.platforms.For(s.Site.Platform)
	if err != nil {
		return nil, err
	}
	controller, err := part.CloudController(s.ControlPlaneSite)
	if err != nil {
		return nil, err
	}
	if s.used && driver != "" {
		controller.CSIDrivers = []string{driver}
	}
	return controller, nil
}
