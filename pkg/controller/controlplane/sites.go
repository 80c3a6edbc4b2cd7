// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/machineapi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// input is what is known about the sites of a shoot.
type input struct {
	profile        *v1alpha1.CloudProfileConfig
	infrastructure *v1alpha1.InfrastructureConfig
	status         *v1alpha1.InfrastructureStatus
	config         *v1alpha1.ControlPlaneConfig
	state          *v1alpha1.ControlPlaneState
	secret         map[string][]byte
	// deployed are the deployed files of the storage drivers, by the names of their Secrets.
	deployed map[string]map[string]string
	// machines are the sites with machines or machine deployments.
	machines sets.Set[string]
	// kept are the sites whose last known configuration is used.
	kept sets.Set[string]
}

// read reads what is known about the shoot's sites. The reader is not a cache, because rotated credentials and machines must not be missed.
func (p *planner) read(ctx context.Context, cp *extensionsv1alpha1.ControlPlane, cluster *extensionscontroller.Cluster) (*input, error) {
	if cluster == nil || cluster.CloudProfile == nil || cluster.Shoot == nil {
		return nil, errors.New("the Cluster has no CloudProfile or no Shoot")
	}
	source, configErr, err := shootsites.Read(ctx, p.reader, shootsites.OfShoot(cp.Namespace, cp.Spec.SecretRef, cluster), cluster)
	in := &input{profile: source.Profile, infrastructure: source.Config, secret: source.Secret, kept: sets.New[string]()}
	var errs [3]error
	in.config, errs[0] = shootsites.DecodeOptional[v1alpha1.ControlPlaneConfig]("spec.providerConfig", cp.Spec.ProviderConfig)
	in.status, errs[1] = shootsites.DecodeOptional[v1alpha1.InfrastructureStatus]("spec.infrastructureProviderStatus",
		cp.Spec.InfrastructureProviderStatus)
	in.state, errs[2] = shootsites.DecodeOptional[v1alpha1.ControlPlaneState]("status.state", cp.Status.State)
	if err := errors.Join(configErr, err, errors.Join(errs[:]...)); err != nil {
		return nil, err
	}
	if in.machines, err = p.sitesWithMachines(ctx, cp.Namespace); err != nil {
		return nil, err
	}
	in.deployed, err = deployedSecrets(ctx, p.reader, cp.Namespace)
	return in, err
}

// validate validates the configuration. Errors in the settings of a site are errors of the site.
func (in *input) validate(cluster *extensionscontroller.Cluster) error {
	var (
		path = field.NewPath("spec", "providerConfig")
		errs []error
	)
	for _, problem := range validation.ValidateControlPlaneConfig(in.config, in.infrastructure, in.profile,
		cluster.Shoot.Spec.Networking, path) {
		var err error = platform.NewError(platform.ClassConfiguration, "%w", problem)
		for i := range in.config.Sites {
			if strings.HasPrefix(problem.Field, path.Child("sites").Index(i).String()+".") {
				err = platform.InSite(in.config.Sites[i].Name, err)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// standIn replaces what CloudProfile, Shoot and Infrastructure say about the sites in err by what is in the state. It returns false if that
// does not help: err is not only about sites, or the state does not have a site or is already used for it.
func (in *input) standIn(err error) bool {
	for name := range failuresBySite(err) {
		known := in.lastKnown(name).DeepCopy()
		if known == nil || in.kept.Has(name) {
			return false
		}
		in.kept.Insert(name)
		in.profile.Sites = replace(in.profile.Sites, known.Profile, func(s v1alpha1.CloudProfileSite) bool { return s.Name == name })
		in.config.Sites = replace(in.config.Sites, known.Settings, func(s v1alpha1.ControlPlaneSite) bool { return s.Name == name })
		in.status.Sites = replace(in.status.Sites, known.Status, func(s v1alpha1.SiteStatus) bool { return s.Name == name })
	}
	return true
}

func replace[T any](all []T, one T, isOne func(T) bool) []T {
	return append(slices.DeleteFunc(all, isOne), one)
}

func (p *planner) sitesWithMachines(ctx context.Context, namespace string) (sets.Set[string], error) {
	var (
		deployments = &machinev1alpha1.MachineDeploymentList{}
		machines    = &machinev1alpha1.MachineList{}
		found       = sets.New[string]()
	)
	for _, list := range []client.ObjectList{deployments, machines} {
		if err := machineapi.IgnoreMissing(p.reader.List(ctx, list, client.InNamespace(namespace))); err != nil {
			return nil, fmt.Errorf("looking for machines: %w", err)
		}
	}
	for i := range deployments.Items {
		found.Insert(deployments.Items[i].Spec.Template.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite])
	}
	for i := range machines.Items {
		found.Insert(machines.Items[i].Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite])
	}
	return found, nil
}

// controlPlaneSites are the sites that something is deployed for, in the order of the Shoot, followed by removed sites.
type controlPlaneSites []controlPlaneSite

type controlPlaneSite struct {
	platform.ControlPlaneSite
	// used is true if the site has, will have or once had nodes. Volumes of a site without nodes can be deleted as long as the Shoot lists
	// the site.
	used bool
}

// resolve returns the sites of the shoot that are ready for machines. The state replaces what the CloudProfile, the Shoot or the status of
// the Infrastructure no longer have, because nodes of the site still need their controllers. A site that cannot be reached with what the
// CloudProfile says is an error of the site.
func (in *input) resolve(cluster *extensionscontroller.Cluster) (controlPlaneSites, error) {
	profile, config := in.withKept()
	resolved, err := site.Resolve(site.Input{Shoot: cluster.Shoot.Status.TechnicalID, Profile: profile, Config: config, Secret: in.secret})
	var errs []error
	if err != nil {
		errs = append(errs, platform.NewError(platform.ClassConfiguration, "%w", err))
	}

	pools := sitesOfPools(cluster, resolved)
	var sites controlPlaneSites
	for i := range resolved {
		s := &resolved[i]
		known := in.known(s.Name)
		used := pools.Has(s.Name) || in.machines.Has(s.Name) || in.hadNodes(s.Name)
		if known.Status == nil {
			if used {
				errs = append(errs,
					platform.InSite(s.Name, platform.NewError(platform.ClassTransient, "the site is not in the status of the Infrastructure")))
			}
			continue
		}
		if problems := validation.ValidateAccess(s.Profile, s.ProfilePath()); len(problems) > 0 {
			errs = append(errs, platform.InSite(s.Name, platform.NewError(platform.ClassConfiguration, "%w", problems.ToAggregate())))
			continue
		}
		known.Site = s
		sites = append(sites, controlPlaneSite{ControlPlaneSite: known, used: used})
	}
	return sites, errors.Join(errs...)
}

// withKept returns the configurations of the CloudProfile and the Shoot, including missing sites that still have machines.
func (in *input) withKept() (*v1alpha1.CloudProfileConfig, *v1alpha1.InfrastructureConfig) {
	profile, config := in.profile.DeepCopy(), in.infrastructure.DeepCopy()
	for _, kept := range in.state.Sites {
		if in.isRemoved(kept.Name) {
			if !in.machines.Has(kept.Name) {
				continue
			}
			config.Sites = append(config.Sites, kept.Config)
		}
		if helper.FindSite(profile, kept.Name) == nil {
			profile.Sites = append(profile.Sites, kept.Profile)
		}
	}
	return profile, config
}

func (in *input) hadNodes(name string) bool {
	known := in.lastKnown(name)
	return known != nil && known.Nodes
}

// lastKnown returns the site in the state, nil if it has none.
func (in *input) lastKnown(name string) *v1alpha1.ControlPlaneSiteState {
	return lists.Find(in.state.Sites, func(s *v1alpha1.ControlPlaneSiteState) bool { return s.Name == name })
}

func (in *input) isRemoved(name string) bool {
	return !slices.ContainsFunc(in.infrastructure.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == name })
}

// known returns what is known about the site, without the site itself.
func (in *input) known(name string) platform.ControlPlaneSite {
	known := platform.ControlPlaneSite{Settings: in.config.Site(name)}
	if kept := in.lastKnown(name); kept != nil {
		known.Status = &kept.Status
		if in.isRemoved(name) {
			known.Settings = kept.Settings
		}
	}
	if status := lists.Find(in.status.Sites, func(s *v1alpha1.SiteStatus) bool { return s.Name == name }); status != nil {
		known.Status = status
	}
	return known
}

// checkCredentials returns an error if there are sites and none of them has valid credentials.
func (sites controlPlaneSites) checkCredentials() error {
	var errs []error
	for _, s := range sites {
		err := cmp.Or(s.Site.Credentials.Check(), validation.CheckCredentials(s.Site.Platform, s.Site.Credentials))
		if err == nil {
			return nil
		}
		errs = append(errs, platform.NewCredentialsError(s.Site.Name, err, ""))
	}
	return errors.Join(errs...)
}

func sitesOfPools(cluster *extensionscontroller.Cluster, sites []site.Site) sets.Set[string] {
	found := sets.New[string]()
	for _, pool := range cluster.Shoot.Spec.Provider.Workers {
		for _, zone := range pool.Zones {
			if s, _ := site.FindZone(sites, zone); s != nil {
				found.Insert(s.Name)
			}
		}
	}
	return found
}

// state returns the state for the next reconciliation.
func (sites controlPlaneSites) state() *v1alpha1.ControlPlaneState {
	state := &v1alpha1.ControlPlaneState{}
	for _, s := range sites {
		state.Sites = append(state.Sites, v1alpha1.ControlPlaneSiteState{
			Name:     s.Site.Name,
			Profile:  *s.Site.Profile,
			Config:   *s.Site.Config,
			Settings: s.Settings,
			Status:   *s.Status,
			Nodes:    s.used,
		})
	}
	return state
}

// leftOut returns the names of the Shoot's sites that nothing is deployed for.
func (sites controlPlaneSites) leftOut(config *v1alpha1.InfrastructureConfig) []string {
	var names []string
	for _, s := range config.Sites {
		if !slices.ContainsFunc(sites, func(deployed controlPlaneSite) bool { return deployed.Site.Name == s.Name }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// of returns the used sites of the platform.
func (sites controlPlaneSites) of(p v1alpha1.Platform) []platform.ControlPlaneSite {
	var result []platform.ControlPlaneSite
	for _, s := range sites {
		if s.used && s.Site.Platform == p {
			result = append(result, s.ControlPlaneSite)
		}
	}
	return result
}
