// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// cached is a value that all calls share for a while. Errors are not kept.
type cached[T any] struct {
	group singleflight.Group

	mutex sync.Mutex
	value T
	at    time.Time
}

// get returns the value if it is not older than age, and otherwise a new one. Calls that come meanwhile share it.
func (c *cached[T]) get(ctx context.Context, age time.Duration, create func(context.Context) (T, error)) (T, error) {
	if value, ok := c.current(age); ok {
		return value, nil
	}
	results := c.group.DoChan("", func() (any, error) {
		if value, ok := c.current(age); ok {
			return value, nil
		}
		start := time.Now()
		value, err := create(context.WithoutCancel(ctx))
		if err != nil {
			return nil, err
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.value, c.at = value, start
		return value, nil
	})
	var none T
	select {
	case result := <-results:
		if result.Err != nil {
			return none, result.Err
		}
		return result.Val.(T), nil
	case <-ctx.Done():
		return none, client.Classify(ctx.Err())
	}
}

func (c *cached[T]) current(age time.Duration) (T, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.value, !c.at.IsZero() && time.Since(c.at) <= age
}
