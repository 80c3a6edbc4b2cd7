// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// planner decides what a shoot gets. It changes nothing.
type planner struct {
	reader    client.Reader
	platforms platform.Registry[platform.ControlPlane]
}

// plan is what a shoot gets.
type plan struct {
	state       *v1alpha1.ControlPlaneState
	config      *v1alpha1.ControlPlaneConfig
	sites       controlPlaneSites
	controllers *v1alpha1.CloudControllerManagerConfiguration
	storages    []storage
	defaultSite string
	// leftOut are sites of the Shoot that have neither machines nor what the Infrastructure makes for them.
	leftOut []string
	// mistakes are those of sites that keep what they were last known to be, or the credentials that are deployed for them.
	mistakes error
}

// storage is what a platform needs for volumes, with its chart.
type storage struct {
	*platform.Storage
	platform v1alpha1.Platform
	chart    platform.SubChart
}

// plan returns what the shoot gets. A site with a mistake keeps what it was last known to be, if something is deployed for it, and the
// others get what they shall have. One with a mistake in its credentials keeps those that are deployed, or has none yet. The errors name
// the sites and fields.
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
	result := &plan{state: sites.state(), config: in.config, sites: sites, defaultSite: defaultSite(in),
		leftOut: sites.leftOut(in.infrastructure)}
	storages, mistakes, storageErr := p.storages(sites, in.deployed)
	result.storages, result.mistakes = storages, mistakes
	controllers, controllersErr := p.cloudControllers(cp.Spec.Region, cluster.Shoot.Status.TechnicalID, result)
	result.controllers = controllers
	return result, errors.Join(storageErr, controllersErr)
}

// defaultSite is what the shoot owner says, or the only site.
func defaultSite(in *input) string {
	if in.config.DefaultSite == "" && len(in.infrastructure.Sites) == 1 {
		return in.infrastructure.Sites[0].Name
	}
	return in.config.DefaultSite
}

// storages returns what brings volumes to the sites. The mistakes are those in credentials, which stop no other site.
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
		}
	}
	return result, errors.Join(ofCredentials...), errors.Join(errs...)
}

// hasCSI reports whether a storage driver is a CSI driver.
func (p *plan) hasCSI() bool {
	for _, s := range p.storages {
		if s.CSIDriver != "" {
			return true
		}
	}
	return false
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
