// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// errHeldBack means that a request was not sent because its service asked to be left alone.
var errHeldBack = errors.New("the service asked for time")

// gate holds back the requests to services that answered with Retry-After, whoever sends them.
type gate struct {
	retry retry

	mutex sync.Mutex
	until map[string]time.Time
}

func newGate(retry retry) *gate {
	return &gate{retry: retry, until: map[string]time.Time{}}
}

// pass returns when a request may be sent to the service. It does not wait for longer than the request has time or a caller
// should be blocked: then the error says how long is left.
func (g *gate) pass(ctx context.Context, service string) error {
	for {
		left := g.left(service)
		if left <= 0 {
			return nil
		}
		deadline, ok := ctx.Deadline()
		if left > maxRetryAfter || ok && time.Until(deadline) < left {
			err := platform.NewError(platform.ClassTransient, "%s API: %w: %s left", service, errHeldBack, left.Round(time.Second))
			err.RetryAfter = left
			return err
		}
		if err := g.retry.wait(ctx, left); err != nil {
			return err
		}
	}
}

// look closes the gate if the answer asks for time.
func (g *gate) look(service string, response *http.Response) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return
	}
	until := g.retry.now().Add(retryAfter(response.Header))
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if until.After(g.until[service]) {
		g.until[service] = until
	}
}

func (g *gate) left(service string) time.Duration {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.until[service].Sub(g.retry.now())
}

// closed reports whether requests to any service are held back.
func (g *gate) closed() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for _, until := range g.until {
		if until.After(g.retry.now()) {
			return true
		}
	}
	return false
}
