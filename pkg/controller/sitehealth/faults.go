// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"fmt"
	"maps"
	"slices"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// siteFaults are the faults of a shoot's machines on a site.
type siteFaults struct {
	Site string
	// Faults are the last that the site told. What is wrong with a machine does not end because its site does not answer.
	Faults []platform.Fault
	// Appeared and Gone are what is new about them.
	Appeared, Gone []platform.Fault
	// Answered reports whether the site told its faults or could not.
	Answered bool
	// Err says why the site does not tell of faults since then, nil if it does.
	Err   error
	Since time.Time
}

// faults returns the faults on the sites of an Infrastructure that have machines and tell of faults, ordered by site. What is new about
// them is returned once.
func (p *probers) faults(infra types.NamespacedName) []siteFaults {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	known := p.known(infra)
	result := make([]siteFaults, 0, len(known.faults))
	for _, name := range slices.Sorted(maps.Keys(known.faults)) {
		last, ok := p.probers[known.keys[name]].last()
		asked := slices.Contains(last.shoots, infra.Namespace)
		f := siteFaults{Site: name, Answered: ok && (asked || last.err != nil), Err: last.err, Since: last.since}
		if asked && last.err == nil {
			now := faultsOf(infra.Namespace, last.observed.Faults)
			f.Appeared, f.Gone = compare(known.faults[name], now)
			known.faults[name] = now
		}
		f.Faults = known.faults[name]
		result = append(result, f)
	}
	return result
}

func faultsOf(shoot string, faults []platform.Fault) []platform.Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f platform.Fault) bool { return f.Shoot != shoot })
}

// compare returns the faults that are new, with what is new about those of a machine, and the old ones of machines that have
// none any more.
func compare(before, after []platform.Fault) (appeared, gone []platform.Fault) {
	appeared = slices.DeleteFunc(slices.Clone(after), func(f platform.Fault) bool { return slices.Contains(before, f) })
	gone = slices.DeleteFunc(slices.Clone(before), func(f platform.Fault) bool {
		return slices.ContainsFunc(after, func(is platform.Fault) bool { return is.Machine == f.Machine && is.Host == f.Host })
	})
	return appeared, gone
}

func note(siteName string, fault platform.Fault) string {
	return fmt.Sprintf("site %q: %s", siteName, fault)
}

// sitesOf returns the names of the sites that have zones of the Worker's pools. The Worker may be nil.
func sitesOf(worker *extensionsv1alpha1.Worker, sites []site.Site) []string {
	var names []string
	if worker == nil {
		return nil
	}
	for _, pool := range worker.Spec.Pools {
		for _, zone := range pool.Zones {
			if s, _ := site.FindZone(sites, zone); s != nil {
				names = append(names, s.Name)
			}
		}
	}
	return names
}
