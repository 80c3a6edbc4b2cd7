// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package toyplatform is a platform in memory, for tests. It shows what a platform costs: this folder, blocks in the provider API (toyapi),
// one file with its rules, and one line in the registry of each consumer.
package toyplatform

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// Platform is the name of the platform.
const Platform = toyapi.Platform

// Cloud is what all sites of the platform have in memory.
type Cloud struct {
	mu       sync.Mutex
	failures map[string]error
	kept     map[string]error
	hanging  map[string]chan struct{}
	machines map[string]map[string]platform.Machine
	groups   map[string][]string
	faults   map[string][]platform.Fault
	// places are those of each site that has several, and placed is where the machines are, by provider ID.
	places map[string][]string
	placed map[string]string
	probed map[string]Probed
}

// NewCloud returns an empty cloud.
func NewCloud() *Cloud {
	return &Cloud{
		failures: map[string]error{},
		kept:     map[string]error{},
		hanging:  map[string]chan struct{}{},
		machines: map[string]map[string]platform.Machine{},
		groups:   map[string][]string{},
		faults:   map[string][]platform.Fault{},
		places:   map[string][]string{},
		placed:   map[string]string{},
		probed:   map[string]Probed{},
	}
}

// Fail lets all further requests to the site fail, or succeed again if err is nil.
func (c *Cloud) Fail(site string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures[site] = err
}

// FailAt lets all further looks at the machines in the place of the site fail.
func (c *Cloud) FailAt(site, place string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures[site+"/"+place] = err
}

// Keep lets all further deletions of machines on the site fail, or succeed again if err is nil.
func (c *Cloud) Keep(site string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[site] = err
}

// Hang lets all further requests to the site wait until release is called or their time is over.
func (c *Cloud) Hang(site string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hanging := make(chan struct{})
	c.hanging[site] = hanging
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.hanging, site)
		close(hanging)
	})
}

// Spread lets the machines of the site be in several places, each of which is listed by itself.
func (c *Cloud) Spread(site string, places ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places[site] = places
}

// placesOf returns the places of the site.
func (c *Cloud) placesOf(site string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if places := c.places[site]; len(places) > 0 {
		return places
	}
	return []string{toyapi.DefaultPlace}
}

// placeOf is where the machines of a spec are.
func placeOf(spec *v1alpha1.MachineProviderSpec) string {
	if machine := toyapi.Of[toyapi.MachineSpec](spec.Blocks); machine != nil && machine.Connection.Place != "" {
		return machine.Connection.Place
	}
	return toyapi.DefaultPlace
}

// Machines returns the names of the machines on the site in alphabetical order.
func (c *Cloud) Machines(site string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.machines[site]))
}

// Groups returns the names of the groups on the site in alphabetical order.
func (c *Cloud) Groups(site string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.groups[site]))
}

func (c *Cloud) addGroup(site, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.groups[site], name) {
		c.groups[site] = append(c.groups[site], name)
	}
}

func (c *Cloud) keepGroups(site string, names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups[site] = slices.DeleteFunc(c.groups[site], func(name string) bool { return !slices.Contains(names, name) })
}

// request is what every request to a site begins with.
func (c *Cloud) request(ctx context.Context, site string) error {
	c.mu.Lock()
	hanging := c.hanging[site]
	c.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		case <-ctx.Done():
			return platform.InSite(site, platform.NewError(platform.ClassTransient, "no answer: %w", ctx.Err()))
		}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failures[site]; err != nil {
		return platform.InSite(site, err)
	}
	return nil
}
