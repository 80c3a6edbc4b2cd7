// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	seedmanagementhelper "github.com/gardener/gardener/pkg/api/seedmanagement/v1alpha1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	seedmanagementv1alpha1 "github.com/gardener/gardener/pkg/apis/seedmanagement/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/profile"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var seedConfigPath = specPath.Child("gardenlet", "config", "seedConfig", "spec")

type managedSeedValidator struct {
	seeds seedValidator
	cache client.Reader
}

// NewManagedSeedValidator returns a validator of ManagedSeeds on Shoots of the provider type and of those whose backups are of it. Shoots
// and CloudProfiles are read from the manager's cache, Secrets from the API server.
func NewManagedSeedValidator(mgr manager.Manager) extensionswebhook.Validator {
	return &managedSeedValidator{seeds: seedValidator{secrets: mgr.GetAPIReader()}, cache: mgr.GetClient()}
}

// Validate validates the Seed in a ManagedSeed as that Seed itself is, and its sites. It warns of what an outage of a site would affect.
func (v *managedSeedValidator) Validate(ctx context.Context, newObj, oldObj client.Object) error {
	managedSeed, old, err := typed[*seedmanagementv1alpha1.ManagedSeed](newObj, oldObj)
	if err != nil || managedSeed.DeletionTimestamp != nil {
		return err
	}
	spec, before := seedSpecOf(managedSeed), &gardencorev1beta1.SeedSpec{}
	if spec == nil {
		return nil
	}
	if former := seedSpecOf(old); former != nil {
		before = former
	}
	if equality.Semantic.DeepEqual(spec, before) {
		return nil
	}
	allErrs := v.seeds.validate(ctx, spec, before, seedConfigPath)
	if len(allErrs) == 0 && spec.Provider.Type == v1alpha1.ProviderType && managedSeed.Spec.Shoot != nil {
		sites, err := v.sitesOf(ctx, client.ObjectKey{Namespace: managedSeed.Namespace, Name: managedSeed.Spec.Shoot.Name}, spec)
		if err != nil || sites == nil {
			return err
		}
		if allErrs = sites.errors(); len(allErrs) == 0 {
			warn(ctx, sites.warnings)
		}
	}
	return allErrs.ToAggregate()
}

// seedSpecOf returns the specification of the Seed, nil if there is none. What cannot be decoded is Gardener's to refuse.
func seedSpecOf(managedSeed *seedmanagementv1alpha1.ManagedSeed) *gardencorev1beta1.SeedSpec {
	if managedSeed == nil {
		return nil
	}
	template, _, err := seedmanagementhelper.ExtractSeedTemplateAndGardenletConfig(managedSeed.Name, &managedSeed.Spec.Gardenlet.Config)
	if err != nil || template == nil {
		return nil
	}
	return &template.Spec
}

// seedSites are the sites of a Seed on a Shoot of the provider type.
type seedSites struct {
	spec    *gardencorev1beta1.SeedSpec
	volumes []v1alpha1.EtcdVolume
	profile *v1alpha1.CloudProfileConfig
	shoot   *document
	// zones are the sites of the zones of the Seed.
	zones map[string]*v1alpha1.CloudProfileSite
}

// sitesOf returns nil if the Shoot is not of the provider type, invalid, or not in the cache yet.
func (v *managedSeedValidator) sitesOf(ctx context.Context, key client.ObjectKey, spec *gardencorev1beta1.SeedSpec) (*seedSites, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := v.cache.Get(ctx, key, shoot); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Shoot: %w", err)
	}
	if shoot.Spec.Provider.Type != v1alpha1.ProviderType {
		return nil, nil
	}
	p, err := profile.Of(ctx, v.cache, shoot)
	if err != nil {
		return nil, err
	}
	s := &seedSites{spec: spec, profile: p.Config, shoot: read(shoot), zones: map[string]*v1alpha1.CloudProfileSite{}}
	if s.shoot.infrastructure == nil {
		return nil, nil
	}
	if config, err := decode[v1alpha1.SeedConfig](spec.Provider.ProviderConfig); err == nil && config != nil {
		s.volumes = config.EtcdVolumes
	}
	for _, zone := range spec.Provider.Zones {
		if site, _ := helper.FindZone(p.Config, shoot.Spec.Region, zone); site != nil {
			s.zones[zone] = site
		}
	}
	return s, nil
}

// errors are the settings that cannot work.
func (s *seedSites) errors() field.ErrorList {
	var (
		allErrs     field.ErrorList
		volumesPath = seedConfigPath.Child("provider", "providerConfig", "etcdVolumes")
	)
	for i, volume := range s.volumes {
		owner := lists.Find(s.profile.Sites, func(site *v1alpha1.CloudProfileSite) bool {
			return slices.ContainsFunc(site.StorageClasses, func(c v1alpha1.StorageClass) bool { return c.Name == volume.StorageClassName })
		})
		if owner == nil {
			continue // not a class of this extension
		}
		for _, zone := range s.spec.Provider.Zones {
			if site := s.zones[zone]; site != nil && site.Name != owner.Name && (len(volume.Zones) == 0 || slices.Contains(volume.Zones, zone)) {
				allErrs = append(allErrs, field.Invalid(volumesPath.Index(i).Child("storageClassName"), volume.StorageClassName,
					fmt.Sprintf("has volumes at site %q only, but zone %q is at site %q", owner.Name, zone, site.Name)))
			}
		}
	}
	services, balancer, servicesPath := s.services(), s.balancer(), seedConfigPath.Child("settings", "loadBalancerServices")
	if !slices.ContainsFunc(s.shoot.infrastructure.Sites, func(site v1alpha1.InfrastructureSite) bool { return site.Name == balancer }) {
		if services.Class != nil && strings.HasPrefix(*services.Class, v1alpha1.LoadBalancerClassPrefix) {
			allErrs = append(allErrs, field.NotSupported(servicesPath.Child("class"), *services.Class, lists.Map(s.shoot.infrastructure.Sites,
				func(site v1alpha1.InfrastructureSite) string { return v1alpha1.LoadBalancerClassPrefix + site.Name })))
		}
		return allErrs
	}
	if zonal := services.ZonalIngress; zonal != nil && !ptr.Deref(zonal.Enabled, true) {
		return allErrs // one load balancer whose members are in all zones
	}
	for _, zone := range s.spec.Provider.Zones {
		policy := services.ExternalTrafficPolicy
		settings := lists.Find(services.Zones, func(z *gardencorev1beta1.SeedSettingLoadBalancerServicesZones) bool { return z.Name == zone })
		if settings != nil && settings.ExternalTrafficPolicy != nil {
			policy = settings.ExternalTrafficPolicy
		}
		if site := s.zones[zone]; ptr.Deref(policy, "") == corev1.ServiceExternalTrafficPolicyLocal && site != nil && site.Name != balancer {
			allErrs = append(allErrs, field.Invalid(servicesPath.Child("externalTrafficPolicy"), *policy,
				fmt.Sprintf("the load balancer of zone %q would have no members: it is at site %q, and the zone at site %q",
					zone, balancer, site.Name)))
		}
	}
	return allErrs
}

func (s *seedSites) services() gardencorev1beta1.SeedSettingLoadBalancerServices {
	if s.spec.Settings == nil || s.spec.Settings.LoadBalancerServices == nil {
		return gardencorev1beta1.SeedSettingLoadBalancerServices{}
	}
	return *s.spec.Settings.LoadBalancerServices
}

// balancer returns the name of the site that serves the seed's load balancers, empty if another controller does.
func (s *seedSites) balancer() string {
	if class := s.services().Class; class != nil {
		site, isOurs := strings.CutPrefix(*class, v1alpha1.LoadBalancerClassPrefix)
		if !isOurs {
			return ""
		}
		return site
	}
	return s.defaultSite()
}

func (s *seedSites) defaultSite() string {
	return helper.DefaultSite(s.shoot.controlPlane, s.shoot.infrastructure)
}

// warnings tell what depends on one site, and volumes that etcds would not get.
func (s *seedSites) warnings() []string {
	var (
		warnings  []string
		names     = sets.New[string]()
		zonesPath = seedConfigPath.Child("provider", "zones")
	)
	for _, site := range s.zones {
		names.Insert(site.Name)
	}
	if names.Len() > 1 {
		warnings = append(warnings, fmt.Sprintf("%s: the zones are at sites %q: etcds of shoots with failure tolerance \"zone\" have members at "+
			"several sites, for which the latency between them must be low, see docs/operations/hybrid-seeds.md", zonesPath, sets.List(names)))
	}
	for _, role := range []v1alpha1.EtcdRole{v1alpha1.EtcdRoleMain, v1alpha1.EtcdRoleEvents} {
		for _, zone := range s.spec.Provider.Zones {
			if site := s.zones[zone]; site != nil && site.Name != s.defaultSite() && !s.hasClass(zone, role) {
				warnings = append(warnings, fmt.Sprintf("%s: zone %q is at site %q, and providerConfig.etcdVolumes has no storage class for etcds of "+
					"role %q there: their volumes get the default class of site %q, so that their members cannot run in the zone",
					zonesPath, zone, site.Name, role, s.defaultSite()))
			}
		}
	}
	balancer := s.balancer()
	for _, zone := range s.spec.Provider.Zones {
		if site := s.zones[zone]; balancer != "" && site != nil && site.Name != balancer {
			warnings = append(warnings, fmt.Sprintf("%s: site %q serves the load balancers of zone %q, which is at site %q, too: control planes in "+
				"the zone cannot be reached during an outage of site %q",
				seedConfigPath.Child("settings", "loadBalancerServices"), balancer, zone, site.Name, balancer))
		}
	}
	return warnings
}

// hasClass reports whether etcds of the role get a storage class in the zone.
func (s *seedSites) hasClass(zone string, role v1alpha1.EtcdRole) bool {
	volume := helper.FindEtcdVolume(s.volumes, zone, role)
	return volume != nil && volume.StorageClassName != ""
}
