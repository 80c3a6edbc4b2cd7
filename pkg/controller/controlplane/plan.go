// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"errors"
	"slices"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// planner plans what is deployed for a shoot. It writes nothing.
type planner struct {
	reader    client.Reader
	platforms platform.Registry[platform.ControlPlane]
}

// plan is what is deployed for a shoot.
type plan struct {
	state       *v1alpha1.ControlPlaneState
	config      *v1alpha1.ControlPlaneConfig
	sites       controlPlaneSites
	controllers *v1alpha1.CloudControllerManagerConfiguration
	storages    []storage
	defaultSite string
	// leftOut are the sites of the Shoot that have no machines and are not in the status of the Infrastructure.
	leftOut []string
	// mistakes are the errors of sites whose last known configuration, or deployed credentials, are kept.
	mistakes error
}

// storage is the storage driver of a platform.
type storage struct {
	*platform.Storage
	platform v1alpha1.Platform
	chart    platform.SubChart
}

// plan returns the plan for a shoot. An invalid site keeps its last known configuration if it has one, and does not affect the others. A
// site with invalid credentials keeps the deployed ones, if any. The errors name the sites and fields.
func (p *planner) plan(ctx context.Context, cp *extensionsv1alpha1.ControlPlane, cluster *extensionscontroller.Cluster) (*plan, error) {
	in, err := p.read(ctx, cp, cluster)
	if err != nil {
		return nil, err
	}
	var mistakes []error
	for {
		result, err := p.try(in, cp, cluster)
		if err == nil {
			if err := result.sites.checkCredentials(); err != nil {
				return nil, errors.Join(append(mistakes, err)...)
			}
			result.mistakes = errors.Join(append(mistakes, result.mistakes)...)
			return result, nil
		}
		mistakes = append(mistakes, err)
		if !in.standIn(err) {
			return nil, errors.Join(mistakes...)
		}
	}
}

func (p *planner) try(in *input, cp *extensionsv1alpha1.ControlPlane, cluster *extensionscontroller.Cluster) (*plan, error) {
	if err := in.validate(cluster); err != nil {
		return nil, err
	}
	sites, err := in.resolve(cluster)
	if err != nil {
		return nil, err
	}
	result := &plan{state: sites.state(), config: in.config, sites: sites, defaultSite: helper.DefaultSite(in.config, in.infrastructure),
		leftOut: sites.leftOut(in.infrastructure)}
	storages, mistakes, storageErr := p.storages(sites, in.deployed)
	result.storages, result.mistakes = storages, mistakes
	controllers, controllersErr := p.cloudControllers(cp.Spec.Region, cluster.Shoot.Status.TechnicalID, result)
	result.controllers = controllers
	return result, errors.Join(storageErr, controllersErr)
}

// storages returns the storage drivers of the sites. The mistakes are errors in credentials, which do not affect other sites.
func (p *planner) storages(sites controlPlaneSites, deployed map[string]map[string]string) (result []storage, mistakes, err error) {
	var ofCredentials, errs []error
	for _, name := range p.platforms.Platforms() {
		used := sites.of(name)
		if len(used) == 0 {
			continue
		}
		part := p.platforms[name]
		chart := part.StorageChart()
		for i := range used {
			used[i].Deployed = deployed[chart.Name+configSecretSuffix]
		}
		found, err := part.Storage(used)
		mistakes, others := splitCredentialsErrors(err)
		ofCredentials, errs = append(ofCredentials, mistakes...), append(errs, others...)
		if len(others) == 0 && found != nil {
			result = append(result, storage{Storage: found, platform: name, chart: chart})
			if found.Further != nil {
				result = append(result, storage{Storage: found.Further, platform: name, chart: *chart.Further})
			}
		}
	}
	return result, errors.Join(ofCredentials...), errors.Join(errs...)
}

// cloudControllers returns the configuration of the cloud-controller-manager for all sites.
func (p *planner) cloudControllers(region, shoot string, plan *plan) (*v1alpha1.CloudControllerManagerConfiguration, error) {
	var (
		config  = &v1alpha1.CloudControllerManagerConfiguration{Shoot: shoot, Region: region, Sites: []v1alpha1.CloudControllerSite{}}
		drivers = map[v1alpha1.Platform]string{}
		errs    []error
	)
	for _, s := range plan.storages {
		drivers[s.platform] = cmp.Or(drivers[s.platform], s.CSIDriver)
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

// hasCSI reports whether any storage driver is a CSI driver.
func (p *plan) hasCSI() bool {
	return slices.ContainsFunc(p.storages, func(s storage) bool { return s.CSIDriver != "" })
}

type planKey struct{}

func withPlan(ctx context.Context, p *plan) context.Context {
	return context.WithValue(ctx, planKey{}, p)
}

// planOf returns the plan in the context, nil if there is none.
func planOf(ctx context.Context) *plan {
	p, _ := ctx.Value(planKey{}).(*plan)
	return p
}
