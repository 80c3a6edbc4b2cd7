// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// DefaultProbeInterval is the default interval between two probes of a site.
const DefaultProbeInterval = 30 * time.Second

// timing determines when a site is probed.
type timing struct {
	// interval is the time between two probes.
	interval time.Duration
	// refused is the interval after credentials were refused. More failed logins would lock the user out of many sites.
	refused time.Duration
	// timeout limits a probe.
	timeout time.Duration
}

func timingOf(interval time.Duration) timing {
	return timing{interval: interval, refused: interval * 5 / 3, timeout: 15 * time.Second}
}

// answer is the result of a probe.
type answer struct {
	// err is nil if the site is available.
	err error
	// since is since when the site is available or not.
	since time.Time
	// observed is what the site reported.
	observed platform.Observation
	// shoots are the shoots whose faults were probed.
	shoots []string
}

// prober probes one site with given credentials periodically.
type prober struct {
	log     logr.Logger
	part    platform.Probe
	timing  timing
	site    *site.Site
	changed func(types.NamespacedName)
	end     context.CancelFunc

	mutex           sync.Mutex
	answered        bool
	answer          answer
	infrastructures map[types.NamespacedName]struct{}
}

// run probes until ctx is done.
func (p *prober) run(ctx context.Context) {
	for {
		start := time.Now()
		shoots := namespacesOf(p.interested())
		observed, err := p.probe(ctx, shoots)
		if ctx.Err() != nil {
			return
		}
		p.record(answer{err: err, observed: observed, shoots: shoots})
		pause := p.timing.interval
		if platform.ClassOf(err) == platform.ClassUnauthenticated {
			pause = p.timing.refused
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(start.Add(pause))):
		}
	}
}

// probe returns the answer of the site, or an error after the timeout even if the platform ignores its context.
func (p *prober) probe(ctx context.Context, shoots []string) (platform.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timing.timeout)
	defer cancel()
	select {
	case said := <-platform.Ask(func() (platform.Observation, error) { return p.part.Probe(ctx, p.site, shoots) }):
		if said.Err != nil && ctx.Err() != nil {
			return platform.Observation{}, p.silent()
		}
		return said.Value, said.Err
	case <-ctx.Done():
		return platform.Observation{}, p.silent()
	}
}

func (p *prober) silent() error {
	return platform.InSite(p.site.Name, platform.NewError(platform.ClassTransient, "no answer within %s", p.timing.timeout))
}

// record stores the answer and enqueues the Infrastructures if the error, the faults or the probed shoots changed.
func (p *prober) record(current answer) {
	p.mutex.Lock()
	before, first := p.answer, !p.answered
	current.since = before.since
	if first || (before.err == nil) != (current.err == nil) {
		current.since = time.Now()
	}
	p.answered, p.answer = true, current
	p.mutex.Unlock()

	same := !first && fmt.Sprint(current.err) == fmt.Sprint(before.err)
	if same && slices.Equal(current.shoots, before.shoots) && slices.Equal(current.observed.Faults, before.observed.Faults) {
		return
	}
	infrastructures := p.interested()
	if !same && current.err != nil {
		p.log.Info("Site has a problem", "class", platform.ClassOf(current.err), "reason", current.err.Error(), "shoots",
			namespacesOf(infrastructures))
	}
	for _, infra := range infrastructures {
		p.changed(infra)
	}
}

// interested returns the Infrastructures that the site is probed for.
func (p *prober) interested() []types.NamespacedName {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Keys(p.infrastructures))
}

// namespacesOf returns the sorted namespaces of the shoots.
func namespacesOf(infrastructures []types.NamespacedName) []string {
	namespaces := make([]string, len(infrastructures))
	for i, infra := range infrastructures {
		namespaces[i] = infra.Namespace
	}
	slices.Sort(namespaces)
	return namespaces
}

func (p *prober) last() (answer, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.answer, p.answered
}

func (p *prober) add(infra types.NamespacedName) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.infrastructures[infra] = struct{}{}
}

// leave removes the Infrastructure and returns how many are left.
func (p *prober) leave(infra types.NamespacedName) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.infrastructures, infra)
	return len(p.infrastructures)
}
