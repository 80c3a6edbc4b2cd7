// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package preflight checks what concerns sites of any platform: addresses, clocks and certificates of single sites and of pairs of sites,
// and what probes report from the networks of sites. It needs no credentials.
package preflight

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Shoot is what is known about a shoot.
type Shoot struct {
	// Networking is that of the Shoot. It may be nil.
	Networking *gardencorev1beta1.Networking
	// Seed are the networks of the seed. It is nil if the seed is not known.
	Seed *gardencorev1beta1.SeedNetworks
	// Config is the configuration of the shoot.
	Config *v1alpha1.InfrastructureConfig
	// ConfigPath is the path of the configuration.
	ConfigPath *field.Path
	// Sites are the sites. Those that were removed from the shoot are not checked.
	Sites []site.Site
	// Demands are the demands of the pools by the names of the sites.
	Demands map[string][]platform.Demand
	// Status is what the last reconciliation reported, nil if there was none.
	Status *v1alpha1.InfrastructureStatus
	// Reports are the reports of probes by the names of their sites.
	Reports map[string]*Report
}

// Resolver returns the addresses of a host.
type Resolver func(ctx context.Context, network, host string) ([]netip.Addr, error)

// Options say with what sites are checked.
type Options struct {
	// Resolve resolves names. Default: the resolver of the process.
	Resolve Resolver
	// Clock is the local clock. Default: that of the process.
	Clock clock.PassiveClock
}

// Preflight checks the sites of a shoot. It asks each site once, for all checks.
type Preflight struct {
	subjects []*subject
}

// subject is a site that is checked.
type subject struct {
	*site.Site

	shoot *Shoot
	clock clock.PassiveClock
	// path is the path of the site in the InfrastructureConfig.
	path *field.Path
	face *face
	// shared is the MTU of the shoot: the smallest of all sites.
	shared int32
}

// report returns the report of the site's probe, nil if there is none.
func (s *subject) report() *Report {
	return s.shoot.Reports[s.Name]
}

// New returns the checks of the sites of the shoot.
func New(shoot Shoot, options Options) *Preflight {
	if options.Resolve == nil {
		options.Resolve = net.DefaultResolver.LookupNetIP
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	p := &Preflight{}
	for i := range shoot.Sites {
		s := &shoot.Sites[i]
		if s.Removed() {
			continue
		}
		index := slices.IndexFunc(shoot.Config.Sites, func(c v1alpha1.InfrastructureSite) bool { return c.Name == s.Name })
		p.subjects = append(p.subjects, &subject{Site: s, shoot: &shoot, clock: options.Clock,
			path: shoot.ConfigPath.Child("sites").Index(index), face: newFace(s.Profile, options.Resolve)})
	}
	shared := int32(ethernetMTU)
	for _, s := range p.subjects {
		if mtu := s.mtu(); mtu > 0 {
			shared = min(shared, mtu)
		}
	}
	for _, s := range p.subjects {
		s.shared = shared
	}
	return p
}

// SiteChecks returns the checks of single sites.
func SiteChecks() []platform.Check { return siteChecks.List() }

// PairChecks returns the checks of pairs of sites.
func PairChecks() []platform.Check { return pairChecks.List() }

// ProbeChecks returns the checks of single sites and of pairs that need reports of probes.
func ProbeChecks() []platform.Check { return append(probeChecks.List(), probePairChecks.List()...) }

// Site checks the site of the name. skip are the IDs of checks that are not made.
func (p *Preflight) Site(ctx context.Context, name string, skip []string) (platform.Findings, error) {
	i := slices.IndexFunc(p.subjects, func(s *subject) bool { return s.Name == name })
	if i < 0 {
		return platform.Findings{}, platform.NewError(platform.ClassConfiguration, "the shoot does not use a site %q", name)
	}
	checks := siteChecks
	if p.subjects[i].report() != nil {
		checks = slices.Concat(checks, probeChecks)
	}
	return checks.Run(ctx, p.subjects[i], skip)
}

// Pair is the result of the checks of two sites.
type Pair struct {
	// Sites are the names of the sites.
	Sites [2]string
	// Findings are the result.
	Findings platform.Findings
	// Err is why checks could not be made.
	Err error
}

// String returns the names of the sites.
func (p Pair) String() string {
	return fmt.Sprintf("%s and %s", p.Sites[0], p.Sites[1])
}

// Pairs checks all pairs of sites. skip are the IDs of checks that are not made.
func (p *Preflight) Pairs(ctx context.Context, skip []string) []Pair {
	var pairs []*pair
	for i := range p.subjects {
		for j := range i {
			pairs = append(pairs, &pair{p.subjects[j], p.subjects[i]})
		}
	}
	results := make([]Pair, len(pairs))
	platform.Each(len(pairs), func(i int) error {
		checks := pairChecks
		if pairs[i][0].report() != nil || pairs[i][1].report() != nil {
			checks = slices.Concat(checks, probePairChecks)
		}
		results[i].Sites = [2]string{pairs[i][0].Name, pairs[i][1].Name}
		results[i].Findings, results[i].Err = checks.Run(ctx, pairs[i], skip)
		return nil
	})
	return results
}
