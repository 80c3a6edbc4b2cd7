// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitehealth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/dump"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// probers probe the sites of all Infrastructures, each site once for equal credentials. A site that does not answer does not delay others.
// It is safe for concurrent use.
type probers struct {
	log       logr.Logger
	platforms platform.Registry[platform.Probe]
	timing    timing
	// changed is called with an Infrastructure when the answer of one of its sites has changed.
	changed func(types.NamespacedName)
	// ctx is the context of all probers.
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup

	mutex   sync.Mutex
	stopped bool
	probers map[string]*prober
	shoots  map[types.NamespacedName]*shoot
}

// shoot is what is known about an Infrastructure.
type shoot struct {
	// keys are the keys of the probers, by the names of the sites.
	keys map[string]string
	// faults are the faults that were returned last, by the names of the sites that have machines and report faults.
	faults map[string][]platform.Fault
}

func newProbers(log logr.Logger, platforms platform.Registry[platform.Probe], timing timing, changed func(types.NamespacedName)) *probers {
	ctx, stop := context.WithCancel(context.Background())
	return &probers{
		log: log, platforms: platforms, timing: timing, changed: changed, ctx: ctx, stop: stop,
		probers: map[string]*prober{}, shoots: map[types.NamespacedName]*shoot{},
	}
}

// Start implements manager.Runnable. When ctx is done it stops all probers, waits for them and prevents new ones from starting.
func (p *probers) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mutex.Lock()
	p.stopped = true
	p.mutex.Unlock()
	p.stop()
	p.group.Wait()
	return nil
}

// set makes the probers probe exactly the given sites of an Infrastructure, those with machines also for faults. It returns the errors of
// sites that cannot be probed.
func (p *probers) set(infra types.NamespacedName, sites []site.Site, withMachines []string) map[string]error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped {
		return nil
	}
	invalid, before, wanted := map[string]error{}, p.known(infra), &shoot{keys: map[string]string{}, faults: map[string][]platform.Fault{}}
	for i := range sites {
		s := &sites[i]
		part, err := p.platforms.For(s.Platform)
		if err == nil && s.Profile == nil && s.State == nil {
			err = platform.NewError(platform.ClassConfiguration, "the site is not in the CloudProfile")
		}
		if err != nil {
			invalid[s.Name] = platform.InSite(s.Name, err)
			continue
		}
		key := keyOf(s)
		wanted.keys[s.Name] = key
		if _, ok := part.(platform.FaultReporter); ok && slices.Contains(withMachines, s.Name) {
			wanted.faults[s.Name] = before.faults[s.Name]
		}
		if known := p.probers[key]; known != nil {
			known.add(infra)
		} else {
			p.probers[key] = p.begin(part, s, infra)
		}
	}
	p.shoots[infra] = wanted
	p.release(infra, before.keys, wanted.keys)
	return invalid
}

// remove stops probing the sites of the Infrastructure.
func (p *probers) remove(infra types.NamespacedName) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	before := p.known(infra)
	delete(p.shoots, infra)
	p.release(infra, before.keys, nil)
}

func (p *probers) known(infra types.NamespacedName) *shoot {
	if known := p.shoots[infra]; known != nil {
		return known
	}
	return &shoot{}
}

// release stops the probers that are no longer needed.
func (p *probers) release(infra types.NamespacedName, before, wanted map[string]string) {
	for name, key := range before {
		if wanted[name] == key {
			continue
		}
		if left := p.probers[key].leave(infra); left == 0 {
			p.probers[key].end()
			delete(p.probers, key)
		}
	}
}

// answers returns the last answers of the sites of an Infrastructure, by their names, without sites that have not answered yet.
func (p *probers) answers(infra types.NamespacedName) map[string]answer {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	answers := map[string]answer{}
	for name, key := range p.known(infra).keys {
		if last, ok := p.probers[key].last(); ok {
			answers[name] = last
		}
	}
	return answers
}

// begin starts a prober for its first Infrastructure.
func (p *probers) begin(part platform.Probe, s *site.Site, infra types.NamespacedName) *prober {
	ctx, end := context.WithCancel(p.ctx)
	started := &prober{
		log: p.log.WithValues("site", s.Name), part: part, timing: p.timing, site: s, changed: p.changed, end: end,
		infrastructures: map[types.NamespacedName]struct{}{infra: {}},
	}
	p.group.Go(func() { started.run(ctx) })
	return started
}

// keyOf returns equal keys for sites that are accessed in the same way with the same credentials.
func keyOf(s *site.Site) string {
	var state *v1alpha1.SiteState
	if s.Profile == nil {
		state = s.State
	}
	sum := sha256.Sum256([]byte(dump.ForHash([]any{s.Name, s.Platform, s.Profile, state, s.Credentials})))
	return hex.EncodeToString(sum[:])
}
