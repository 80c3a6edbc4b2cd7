// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Input is everything that is known about a shoot's sites.
type Input struct {
	// Shoot is the technical ID of the shoot.
	Shoot string
	// Profile is the configuration of the CloudProfile. It may be nil.
	Profile *v1alpha1.CloudProfileConfig
	// Config is the shoot's configuration. It is nil if the shoot no longer has sites.
	Config *v1alpha1.InfrastructureConfig
	// Pods are the shoot's pod ranges.
	Pods []string
	// State is what earlier reconciliations left. It may be nil.
	State *v1alpha1.InfrastructureState
	// Secret is the data of the shoot's Secret. Its keys are <site>.<key>.
	Secret map[string][]byte
}

// Resolve returns the sites of the shoot: first those of Config in its order, then those that only State has in its order;
// the latter are Removed. Errors name the field and the site. If a site's platform is not known the other sites are returned
// together with the error. If an address is malformed no site is returned, because each site depends on the addresses of all.
func Resolve(input Input) ([]Site, error) {
	networks, err := resolveNetworks(input)
	if err != nil {
		return nil, err
	}

	var (
		sites []Site
		errs  []error
	)
	add := func(name string, config *v1alpha1.InfrastructureSite, network Network) {
		site := Site{
			Name:         name,
			Shoot:        input.Shoot,
			Profile:      findProfile(input.Profile, name),
			MachineTypes: machineTypesOf(input.Profile, name),
			Config:       config,
			State:        findState(input.State, name),
			Credentials:  CredentialsOf(name, input.Secret),
			Network:      network,
		}
		if site.Removed() && !samePlace(site.Profile, site.State) {
			site.Profile = nil // Another site has the name since.
		}
		if site.Platform, err = platformOf(&site); err != nil {
			errs = append(errs, err)
			return
		}
		sites = append(sites, site)
	}

	if input.Config != nil {
		for i := range input.Config.Sites {
			config := &input.Config.Sites[i]
			add(config.Name, config, networks[i])
		}
	}
	if input.State != nil {
		for _, state := range input.State.Sites {
			if !isConfigured(input.Config, state.Name) {
				add(state.Name, nil, Network{})
			}
		}
	}
	return sites, errors.Join(errs...)
}

// Find returns the site with the name, and nil if there is none.
func Find(sites []Site, name string) *Site {
	return lists.Find(sites, func(s *Site) bool { return s.Name == name })
}

// FindZone returns the site that the shoot uses and has the zone, and the zone. Both are nil if there is none.
func FindZone(sites []Site, name string) (*Site, *v1alpha1.SiteZone) {
	for i := range sites {
		if sites[i].Removed() || sites[i].Profile == nil {
			continue
		}
		if zone := lists.Find(sites[i].Profile.Zones, func(z *v1alpha1.SiteZone) bool { return z.Name == name }); zone != nil {
			return &sites[i], zone
		}
	}
	return nil, nil
}

// CredentialsOf returns the entries of the Secret's data for the site.
func CredentialsOf(site string, data map[string][]byte) Credentials {
	credentials := Credentials{}
	for key, value := range data {
		if name, ok := strings.CutPrefix(key, site+"."); ok {
			credentials[name] = string(value)
		}
	}
	return credentials
}

// platformOf takes the platform from the State of a removed site, because the CloudProfile may have given the name to
// another site since, and otherwise from the CloudProfile.
func platformOf(site *Site) (v1alpha1.Platform, error) {
	var fromState, fromProfile v1alpha1.Platform
	if site.State != nil {
		fromState, _ = site.State.Platform()
	}
	if site.Profile != nil {
		fromProfile, _ = site.Profile.Platform()
	}
	platform := cmp.Or(fromProfile, fromState)
	if site.Removed() {
		platform = cmp.Or(fromState, fromProfile)
	}
	switch {
	case platform != "":
		return platform, nil
	case site.Removed():
		return "", fmt.Errorf("site %q: state.sites: it has no block of exactly one platform and the CloudProfile does not know the site",
			site.Name)
	case site.Profile == nil:
		return "", fmt.Errorf("site %q: infrastructureConfig.sites: the CloudProfile does not know the site", site.Name)
	default:
		return "", fmt.Errorf("site %q: cloudProfileConfig.sites: it needs the block of exactly one platform", site.Name)
	}
}

// samePlace reports whether a site of the CloudProfile may be the one of the state. Its address may have changed.
func samePlace(profile *v1alpha1.CloudProfileSite, state *v1alpha1.SiteState) bool {
	if profile == nil || state == nil {
		return true
	}
	before, ok := state.Platform()
	if !ok {
		return true
	}
	now, _ := profile.Platform()
	return now == before && maps.Equal(profile.Scope(), state.Scope())
}

func findProfile(profile *v1alpha1.CloudProfileConfig, name string) *v1alpha1.CloudProfileSite {
	if profile == nil {
		return nil
	}
	return lists.Find(profile.Sites, func(s *v1alpha1.CloudProfileSite) bool { return s.Name == name })
}

func machineTypesOf(profile *v1alpha1.CloudProfileConfig, site string) map[string]*v1alpha1.SiteMachineType {
	result := map[string]*v1alpha1.SiteMachineType{}
	if profile == nil {
		return result
	}
	for _, machineType := range profile.MachineTypes {
		if found := lists.Find(machineType.Sites, func(s *v1alpha1.SiteMachineType) bool { return s.Name == site }); found != nil {
			result[machineType.Name] = found
		}
	}
	return result
}

func findState(state *v1alpha1.InfrastructureState, name string) *v1alpha1.SiteState {
	if state == nil {
		return nil
	}
	return lists.Find(state.Sites, func(s *v1alpha1.SiteState) bool { return s.Name == name })
}

func isConfigured(config *v1alpha1.InfrastructureConfig, name string) bool {
	return config != nil && slices.ContainsFunc(config.Sites, func(s v1alpha1.InfrastructureSite) bool { return s.Name == name })
}
