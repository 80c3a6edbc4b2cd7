// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"sync"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// cached is a value that all calls share for a while. Errors are not kept.
type cached[T any] struct {
	group platform.Shared[T]

	mutex sync.Mutex
	value T
	at    time.Time
}

// get returns the value if it is not older than age, and otherwise a new one. Calls that come meanwhile share it.
func (c *cached[T]) get(ctx context.Context, age time.Duration, create func(context.Context) (T, error)) (T, error) {
	if value, ok := c.current(age); ok {
		return value, nil
	}
	return c.group.Do(ctx, "", func(ctx context.Context) (T, error) {
		if value, ok := c.current(age); ok {
			return value, nil
		}
		start := time.Now()
		value, err := create(ctx)
		if err != nil {
			return value, err
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.value, c.at = value, start
		return value, nil
	})
}

func (c *cached[T]) current(age time.Duration) (T, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.value, !c.at.IsZero() && time.Since(c.at) <= age
}
