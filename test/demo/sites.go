// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// errNoSite means that this machine can run none of the sites that were asked for.
var errNoSite = errors.New("no site is left")

// site is a place that machines come from.
type site interface {
	// name is the name of the site in example/.
	name() string
	// platform is what the site runs on, for people.
	platform() string
	// start starts the site. The error is openstack.ErrNotPossible if this machine cannot run it.
	start(context.Context) error
	// stop ends what start started.
	stop(context.Context) error
	// locate says in the CloudProfile where the site is.
	locate(*v1alpha1.CloudProfileSite)
	// credentials are those of the shoot without the prefix of the site.
	credentials() map[string]string
	// servers are the servers of the shoot by the last element of their provider ID.
	servers(context.Context) (map[string]server, error)
	// active are the servers for the kubelets.
	active(context.Context) (map[string]kubelets.Server, error)
	// objects are all objects of the shoot.
	objects(context.Context) ([]object, error)
	// kinds are the kinds of objects that are looked for, for people.
	kinds() string
	// hint says how to look around.
	hint() string
}

// server is a server of any site.
type server struct {
	name, status, image string
	active              bool
	addresses           []string
}

// object is an object of any site.
type object struct {
	kind, text string
}

// choose returns the sites with the names, which are divided by commas; all if there are none.
func choose(all []site, names string) ([]site, error) {
	if names == "" {
		return all, nil
	}
	var chosen []site
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s site) bool { return s.name() == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no site %q; SITES is one or more of %s, divided by commas", name, strings.Join(siteNames(all), ", "))
		case slices.Contains(chosen, all[i]):
			return nil, fmt.Errorf("SITES names %q twice", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func siteNames(sites []site) []string {
	var names []string
	for _, s := range sites {
		names = append(names, s.name())
	}
	return names
}

// startSite starts a site. One that this machine cannot run is left out.
func (d *demo) startSite(s site) func(context.Context) error {
	return func(ctx context.Context) error {
		err := s.start(ctx)
		if errors.Is(err, openstack.ErrNotPossible) {
			return d.leaveOut(s, err)
		}
		return err
	}
}

// leaveOut goes on without a site.
func (d *demo) leaveOut(s site, why error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sites = slices.DeleteFunc(slices.Clone(d.sites), func(other site) bool { return other == s })
	err := fmt.Errorf("site %s is %w: %w", s.name(), errLeftOut, why)
	d.leftOut = append(d.leftOut, err.Error())
	return err
}

// checkSites fails if no site is left.
func (d *demo) checkSites(context.Context) error {
	if len(d.sites) == 0 {
		return fmt.Errorf("%w: %s", errNoSite, strings.Join(d.leftOut, "; "))
	}
	d.screen.print("    the shoot has the sites " + strings.Join(siteNames(d.sites), " and "))
	return nil
}

// servers are those of all sites. If a site does not answer, those of the others are returned with the error.
func (d *demo) servers(ctx context.Context) (map[string]server, error) {
	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		result = map[string]server{}
		errs   []error
	)
	for _, s := range d.sites {
		group.Go(func() {
			servers, err := s.servers(ctx)
			mutex.Lock()
			defer mutex.Unlock()
			maps.Copy(result, servers)
			errs = append(errs, err)
		})
	}
	group.Wait()
	return result, errors.Join(errs...)
}

// active are the servers of all sites for the kubelets.
func (d *demo) active() kubelets.ActiveServers {
	var all []kubelets.ActiveServers
	for _, s := range d.sites {
		all = append(all, s.active)
	}
	return kubelets.Together(all...)
}
