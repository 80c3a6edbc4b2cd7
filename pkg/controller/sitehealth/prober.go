// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// DefaultProbeInterval is how often a site is asked how it is: a fault and its end are seen within a minute.
const DefaultProbeInterval = 30 * time.Second

// timing says when a site is asked.
type timing struct {
	// interval is the time from one question to the next.
	interval time.Duration
	// refused is that time after credentials were refused: more failed logins would lock the user out at many sites.
	refused time.Duration
	// timeout is how long an answer may take.
	timeout time.Duration
}

func timingOf(interval time.Duration) timing {
	return timing{interval: interval, refused: interval * 5 / 3, timeout: 15 * time.Second}
}

// answer is what a site said.
type answer struct {
	// err is nil if nothing is wrong.
	err error
	// since is since when something is wrong, or nothing is.
	since time.Time
	// observed is what the site told of itself, too.
	observed platform.Observation
	// shoots are those whose faults were asked for.
	shoots []string
}

// prober asks one site with given credentials again and again.
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

// run asks until ctx ends.
func (p *prober) run(ctx context.Context) {
	for {
		asked := time.Now()
		shoots := namespacesOf(p.interested())
		observed, err := p.ask(ctx, shoots)
		if ctx.Err() != nil {
			return
		}
		p.hear(answer{err: err, observed: observed, shoots: shoots})
		pause := p.timing.interval
		if platform.ClassOf(err) == platform.ClassUnauthenticated {
			pause = p.timing.refused
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(asked.Add(pause))):
		}
	}
}

// ask returns when the site answered, or when the time for that is over. A platform that does not obey its context is left alone.
func (p *prober) ask(ctx context.Context, shoots []string) (platform.Observation, error) {
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

// hear remembers the answer and tells those who want to know if something else is wrong than before, with the site or with machines.
// Quotas alone are not told.
func (p *prober) hear(heard answer) {
	p.mutex.Lock()
	before, first := p.answer, !p.answered
	heard.since = before.since
	if first || (before.err == nil) != (heard.err == nil) {
		heard.since = time.Now()
	}
	p.answered, p.answer = true, heard
	p.mutex.Unlock()

	same := !first && message(heard.err) == message(before.err)
	if same && slices.Equal(heard.shoots, before.shoots) && slices.Equal(heard.observed.Faults, before.observed.Faults) {
		return
	}
	infrastructures := p.interested()
	if !same && heard.err != nil {
		p.log.Info("Something is wrong with a site", "class", platform.ClassOf(heard.err), "reason", heard.err.Error(), "shoots",
			namespacesOf(infrastructures))
	}
	for _, infra := range infrastructures {
		p.changed(infra)
	}
}

// interested are the Infrastructures that the site is asked for.
func (p *prober) interested() []types.NamespacedName {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Keys(p.infrastructures))
}

// namespacesOf are the sorted namespaces of the shoots.
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

// leave returns how many Infrastructures are left.
func (p *prober) leave(infra types.NamespacedName) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.infrastructures, infra)
	return len(p.infrastructures)
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
