// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package dnsrecord

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// quickTime limits the time of a service for a DNSRecord, slowTime that of a service that exceeded quickTime before.
	quickTime = 3 * time.Second
	slowTime  = 30 * time.Second
	// sameSlow is the number of DNSRecords per tenant, and per service, that may use slow services concurrently.
	sameSlow = 2
	// nextTurn is the delay of a DNSRecord that has to wait for its turn, or for its service to return the accepted values. In the latter case
	// it doubles up to lastTurn, for up to visibleTimeout in total.
	nextTurn       = time.Second
	lastTurn       = 8 * time.Second
	visibleTimeout = time.Minute
)

// turns schedules DNSRecords, so that slow services do not occupy all workers. A tenant gets at most half of the workers. A service that
// exceeded its time is slow until it succeeds: it gets more time, and all slow services together a quarter of the workers. Waiting
// DNSRecords occupy no worker.
type turns struct {
	next    reconcile.Reconciler
	workers int

	mutex    sync.Mutex
	running  map[string]int
	services map[types.NamespacedName]string
	pending  map[types.NamespacedName]pending
	slow     dns.Cache[bool]
}

// pending is a generation of a DNSRecord that its service has accepted but does not return yet, and the next delay.
type pending struct {
	generation int64
	since      time.Time
	next       time.Duration
}

// turn is one reconciliation of a DNSRecord.
type turn struct {
	turns  *turns
	record types.NamespacedName
	// held are the counters in turns.running that include this turn.
	held []string
	// service is the identity of the service, empty until it is known. slow is whether it was slow before, left its remaining time.
	service string
	slow    bool
	left    time.Duration
	// leave prevents Gardener's library from writing an error to the status.
	leave context.CancelFunc
}

type turnKey struct{}

// errLater means that the slow services are busy.
var errLater = errors.New("the DNS service is slow and in use by other records")

func newTurns(next reconcile.Reconciler, workers int) *turns {
	return &turns{
		next: next, workers: max(workers, 1),
		running: map[string]int{}, services: map[types.NamespacedName]string{}, pending: map[types.NamespacedName]pending{},
	}
}

// Reconcile implements reconcile.Reconciler.
func (t *turns) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	current := &turn{turns: t, record: request.NamespacedName}
	defer current.end()
	if !t.count(current, max(t.workers/2, 1), "tenant "+tenantOf(request.Namespace)) || !current.at(t.known(request.NamespacedName)) {
		return reconcile.Result{RequeueAfter: nextTurn}, nil
	}
	ctx, current.leave = context.WithCancel(context.WithValue(ctx, turnKey{}, current))
	defer current.leave()
	result, err := t.next.Reconcile(ctx, request)
	if err == nil && result.IsZero() {
		t.forget(request.NamespacedName)
	}
	return result, err
}

// tenantOf returns the project part of a technical ID. Names of projects do not contain two consecutive hyphens.
func tenantOf(namespace string) string {
	parts := strings.Split(namespace, "--")
	return strings.Join(parts[:max(len(parts)-1, 1)], "--")
}

// count adds the turn to the counters, unless one of them has reached the limit.
func (t *turns) count(current *turn, limit int, counters ...string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, counter := range counters {
		if t.running[counter] >= limit {
			return false
		}
	}
	for _, counter := range counters {
		t.running[counter]++
	}
	current.held = append(current.held, counters...)
	return true
}

// known returns the last known service of the DNSRecord.
func (t *turns) known(record types.NamespacedName) string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.services[record]
}

func (t *turns) forget(record types.NamespacedName) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.services, record)
	delete(t.pending, record)
}

// turnOf returns the turn in the context.
func turnOf(ctx context.Context) *turn {
	if current, ok := ctx.Value(turnKey{}).(*turn); ok {
		return current
	}
	return &turn{turns: newTurns(nil, 1), leave: func() {}}
}

// at sets the service of the turn, and reports whether it may be used now.
func (c *turn) at(service string) bool {
	if service == "" || service == c.service {
		return true
	}
	t := c.turns
	t.mutex.Lock()
	t.services[c.record] = service
	t.mutex.Unlock()
	c.service, c.left = service, quickTime
	if c.slow, _ = t.slow.Get(service); !c.slow {
		return true
	}
	c.left = slowTime
	return t.count(c, max(t.workers/4, 1), "slow") && t.count(c, sameSlow, "slow "+service, "slow "+tenantOf(c.record.Namespace))
}

// use calls do with the remaining time of the service.
func (c *turn) use(ctx context.Context, do func(context.Context) error) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.left)
	defer cancel()
	err := do(ctx)
	if c.left -= time.Since(start); err != nil && c.left <= 0 {
		c.turns.slow.Put(c.service, true)
	}
	return err
}

// finish returns the delay until the next turn if err is not to be reported, because the service was slow for the first time or does not
// return the accepted values yet. It returns false otherwise.
func (c *turn) finish(generation int64, err error) (time.Duration, bool) {
	t := c.turns
	if err == nil {
		t.slow.Forget(c.service)
		return 0, false
	}
	if errors.Is(err, errLater) || !c.slow && c.left <= 0 && c.service != "" {
		return nextTurn, true
	}
	if !platform.IsProgress(err) {
		return 0, false
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	p, ok := t.pending[c.record]
	if !ok || p.generation != generation {
		p = pending{generation: generation, since: time.Now(), next: nextTurn}
	}
	if time.Since(p.since) > visibleTimeout {
		delete(t.pending, c.record)
		return 0, false
	}
	after := p.next
	p.next = min(2*p.next, lastTurn)
	t.pending[c.record] = p
	return after, true
}

// waits reports whether the service has already accepted this generation of the record.
func (c *turn) waits(generation int64) bool {
	c.turns.mutex.Lock()
	defer c.turns.mutex.Unlock()
	p, ok := c.turns.pending[c.record]
	return ok && p.generation == generation
}

func (c *turn) end() {
	c.turns.mutex.Lock()
	defer c.turns.mutex.Unlock()
	for _, counter := range c.held {
		if c.turns.running[counter]--; c.turns.running[counter] == 0 {
			delete(c.turns.running, counter)
		}
	}
}

// timed is a provider that uses the remaining time of a turn.
type timed struct {
	dns.Provider
	turn *turn
}

func (t timed) Zone(ctx context.Context, given, name string) (zone string, err error) {
	err = t.turn.use(ctx, func(ctx context.Context) error {
		zone, err = t.Provider.Zone(ctx, given, name)
		return err
	})
	return zone, err
}

func (t timed) Ensure(ctx context.Context, zone string, record dns.Record, known bool) error {
	return t.turn.use(ctx, func(ctx context.Context) error { return t.Provider.Ensure(ctx, zone, record, known) })
}

func (t timed) Delete(ctx context.Context, zone string, record dns.Record) error {
	return t.turn.use(ctx, func(ctx context.Context) error { return t.Provider.Delete(ctx, zone, record) })
}
