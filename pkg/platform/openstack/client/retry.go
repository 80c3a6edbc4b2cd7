// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	maxRetries    = 3
	firstBackoff  = 200 * time.Millisecond
	maxRetryAfter = 30 * time.Second
	// maxSeconds limits the Retry-After that a service can impose on its clients.
	maxSeconds = 60 * 60
)

// retry retries requests.
type retry struct {
	wait func(context.Context, time.Duration) error
	now  func() time.Time
}

// transient retries reads and deletions whose response was lost or reported a temporary problem. Creations are not retried here: their
// callers first look for existing objects.
func (r retry) transient(ctx context.Context, method, _ string, _ *gophercloud.RequestOpts, err error, failures uint) error {
	if failures > maxRetries || (method != http.MethodGet && method != http.MethodDelete) || !isTransient(err) {
		return err
	}
	backoff := firstBackoff << (failures - 1)
	if waitErr := r.wait(ctx, backoff+rand.N(backoff/2)); waitErr != nil { // #nosec G404 -- jitter
		return err
	}
	return nil
}

// rateLimited retries a request that was rejected with 429, unless the requested delay is longer than a caller should be blocked. The gate
// enforces the delay.
func (r retry) rateLimited(ctx context.Context, response *gophercloud.ErrUnexpectedResponseCode, _ error, failures uint) error {
	after := retryAfter(response.ResponseHeader)
	if after > maxRetryAfter || after == 0 && r.wait(ctx, firstBackoff<<(failures-1)) != nil {
		return *response
	}
	return nil
}

func isTransient(err error) bool {
	var response gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &response) {
		switch response.Actual {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var ours *platform.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &ours) {
		return false
	}
	var network net.Error
	return errors.As(err, &network) && !network.Timeout()
}

func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return time.Duration(min(seconds, maxSeconds)) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(date)), maxSeconds*time.Second)
	}
	return 0
}

func wait(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errThrottled means that a request was not sent because its service asked clients to back off.
var errThrottled = errors.New("the service asked clients to back off")

// gate delays requests to services that responded with Retry-After, regardless of the caller.
type gate struct {
	retry retry

	mutex sync.Mutex
	until map[string]time.Time
}

func newGate(retry retry) *gate {
	return &gate{retry: retry, until: map[string]time.Time{}}
}

// wait blocks until a request may be sent to the service. If that takes longer than the request's deadline or than a caller should be
// blocked, it returns an error with the remaining time.
func (g *gate) wait(ctx context.Context, service string) error {
	for {
		remaining := g.remaining(service)
		if remaining <= 0 {
			return nil
		}
		deadline, ok := ctx.Deadline()
		if remaining > maxRetryAfter || ok && time.Until(deadline) < remaining {
			err := platform.NewError(platform.ClassTransient, "%s API: %w: retry in %s", service, errThrottled, remaining.Round(time.Second))
			err.RetryAfter = remaining
			return err
		}
		if err := g.retry.wait(ctx, remaining); err != nil {
			return err
		}
	}
}

// observe closes the gate if the response asks clients to back off.
func (g *gate) observe(service string, response *http.Response) {
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

func (g *gate) remaining(service string) time.Duration {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.until[service].Sub(g.retry.now())
}

// closed reports whether requests to any service are delayed.
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
