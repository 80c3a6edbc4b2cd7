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
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	maxRetries    = 3
	firstBackoff  = 200 * time.Millisecond
	maxRetryAfter = 30 * time.Second
	// maxSeconds is the most that a service is believed to want its clients to wait.
	maxSeconds = 60 * 60
)

// retry repeats requests.
type retry struct {
	wait func(context.Context, time.Duration) error
	now  func() time.Time
}

// transient repeats requests that are safe to repeat, reads and deletions, when the answer was lost or said that the
// service has a passing problem. Creations are not repeated here: their callers look for what exists first.
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

// rateLimited repeats a request that was refused with 429, unless the service asked for more time than a caller should be
// blocked. The gate makes it wait for the time that the service asked for.
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
