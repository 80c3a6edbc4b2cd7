// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package faults watches the sites of Workers for what becomes of machines after machine-controller-manager has asked for them
// for the last time.
package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// Watches are the watches of all Workers, one for each site whose platform tells of faults. It is safe for concurrent use.
type Watches struct {
	log       logr.Logger
	platforms platform.Registry[platform.Faults]
	teller    *teller
	timing    timing
	// ctx is that of all watches.
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup

	mutex   sync.Mutex
	stopped bool
	workers map[types.NamespacedName]*watchedWorker
}

// watchedWorker are the watches of one Worker.
type watchedWorker struct {
	// worker has what an event needs to know about the Worker.
	worker *extensionsv1alpha1.Worker
	// sites are the watches by the names of their sites, ends what ends them.
	sites map[string]*watch
	ends  map[string]context.CancelFunc
	// err says why not all sites are known.
	err error
}

func newWatches(log logr.Logger, platforms platform.Registry[platform.Faults], teller *teller, timing timing) *Watches {
	ctx, stop := context.WithCancel(context.Background())
	return &Watches{
		log: log, platforms: platforms, teller: teller, timing: timing, ctx: ctx, stop: stop,
		workers: map[types.NamespacedName]*watchedWorker{},
	}
}

// Start implements manager.Runnable. When ctx ends it ends all watches, waits for them and lets none begin any more.
func (w *Watches) Start(ctx context.Context) error {
	<-ctx.Done()
	w.mutex.Lock()
	w.stopped = true
	w.mutex.Unlock()
	w.stop()
	w.group.Wait()
	return nil
}

// set lets exactly the sites be watched whose platform tells of faults. err says why not all sites of the Worker are known; then
// those that are watched already stay.
func (w *Watches) set(worker *extensionsv1alpha1.Worker, sites []site.Site, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.stopped {
		return
	}
	key := client.ObjectKeyFromObject(worker)
	watched := w.workers[key]
	if watched != nil && watched.worker.UID != worker.UID {
		watched.end()
		watched = nil
	}
	if watched == nil {
		watched = &watchedWorker{
			worker: &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Namespace: worker.Namespace, Name: worker.Name, UID: worker.UID}},
			sites:  map[string]*watch{},
			ends:   map[string]context.CancelFunc{},
		}
		w.workers[key] = watched
	}
	watched.err = err

	wanted := map[string]bool{}
	for i := range sites {
		s := &sites[i]
		part, ok := w.platforms[s.Platform]
		if !ok {
			continue
		}
		wanted[s.Name] = true
		if running := watched.sites[s.Name]; running != nil {
			running.update(s)
			continue
		}
		watched.sites[s.Name], watched.ends[s.Name] = w.begin(watched.worker, part, s)
	}
	if err != nil {
		return
	}
	for name, end := range watched.ends {
		if !wanted[name] {
			end()
			delete(watched.ends, name)
			delete(watched.sites, name)
		}
	}
}

func (w *Watches) begin(worker *extensionsv1alpha1.Worker, part platform.Faults, s *site.Site) (*watch, context.CancelFunc) {
	ctx, end := context.WithCancel(w.ctx)
	started := &watch{
		log: w.log.WithValues("worker", client.ObjectKeyFromObject(worker)), part: part, timing: w.timing, site: s,
		tell: func(siteName string, appeared, gone []platform.Fault) {
			w.teller.tell(ctx, worker, siteName, appeared, gone)
		},
		state: state{since: time.Now()},
	}
	w.group.Go(func() { started.run(ctx) })
	return started, end
}

// remove ends all watches of the Worker.
func (w *Watches) remove(key types.NamespacedName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if watched := w.workers[key]; watched != nil {
		watched.end()
		delete(w.workers, key)
	}
}

func (w *watchedWorker) end() {
	for _, end := range w.ends {
		end()
	}
}

// Overview is what is known about the machines of a Worker.
type Overview struct {
	// Faults say what is wrong with which machine, the site's name first, ordered by site and machine.
	Faults []string
	// Unwatched say which sites are not watched and why. The faults that they told before are still in Faults.
	Unwatched []error
}

// Overview returns what is known about the machines of the Worker. Right after a start it waits a short time for the sites that
// have not answered yet.
func (w *Watches) Overview(ctx context.Context, key types.NamespacedName) Overview {
	const interval = 50 * time.Millisecond
	// The wait ends without an answer if the sites have none. Then they are not watched.
	_ = wait.PollUntilContextTimeout(ctx, interval, w.timing.firstAnswer, true, func(context.Context) (bool, error) {
		states, known, _ := w.states(key)
		return known && !slices.ContainsFunc(slices.Collect(maps.Values(states)), w.mayStillAnswer), nil
	})

	states, known, err := w.states(key)
	if !known {
		return Overview{Unwatched: []error{platform.NewError(platform.ClassTransient, "the sites of the Worker are not known yet")}}
	}
	var overview Overview
	for _, name := range slices.Sorted(maps.Keys(states)) {
		s := states[name]
		overview.Faults = append(overview.Faults, describe(name, s.faults)...)
		if s.watched || s.answered() && time.Since(s.since) < w.timing.grace {
			continue
		}
		if s.err == nil {
			s.err = platform.NewError(platform.ClassTransient, "no answer")
		}
		overview.Unwatched = append(overview.Unwatched, fmt.Errorf("%w (its machines are not watched for faults)", platform.InSite(name, s.err)))
	}
	if err != nil {
		overview.Unwatched = append(overview.Unwatched, err)
	}
	return overview
}

func (w *Watches) mayStillAnswer(s state) bool {
	return !s.answered() && time.Since(s.since) < w.timing.firstAnswer
}

// states returns what is known about the sites of the Worker, false if the Worker was not looked at, and why sites are missing.
func (w *Watches) states(key types.NamespacedName) (map[string]state, bool, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	watched := w.workers[key]
	if watched == nil {
		return nil, false, nil
	}
	states := map[string]state{}
	for name, running := range watched.sites {
		states[name] = running.now()
	}
	return states, true, watched.err
}

func describe(siteName string, faults []platform.Fault) []string {
	described := make([]string, len(faults))
	for i, fault := range faults {
		described[i] = note(siteName, fault)
	}
	slices.Sort(described)
	return described
}

func note(siteName string, fault platform.Fault) string {
	return fmt.Sprintf("site %q: %s", siteName, fault)
}
