// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// What follows begins all goroutines that ask a site: a panic in one of them ends that call, and not the process.

// Each calls do with 0 to n-1 at the same time, and returns the errors in this order.
func Each(n int, do func(i int) error) []error {
	var (
		group sync.WaitGroup
		errs  = make([]error, n)
	)
	for i := range n {
		group.Go(func() {
			defer Recover(&errs[i])
			errs[i] = do(i)
		})
	}
	group.Wait()
	return errs
}

// Answer is what a site answered.
type Answer[T any] struct {
	// Value is the answer.
	Value T
	// Err says why there is none.
	Err error
}

// Ask calls ask. Nobody has to wait for the answer.
func Ask[T any](ask func() (T, error)) <-chan Answer[T] {
	answers := make(chan Answer[T], 1)
	go func() {
		value, err := Safely(ask)
		answers <- Answer[T]{Value: value, Err: err}
	}()
	return answers
}

// Shared lets calls that come at the same time share one result. The zero value can be used.
type Shared[T any] struct {
	group singleflight.Group
}

// Do returns the result of do, or that of the call with the same key that goes on. A call that gives up does not end what others
// wait for: the context of do does not end. Its error is of ClassTransient then.
func (s *Shared[T]) Do(ctx context.Context, key string, do func(context.Context) (T, error)) (T, error) {
	results := s.group.DoChan(key, func() (any, error) {
		return Safely(func() (T, error) { return do(context.WithoutCancel(ctx)) })
	})
	select {
	case result := <-results:
		value, _ := result.Val.(T)
		return value, result.Err
	case <-ctx.Done():
		var none T
		return none, NewError(ClassTransient, "no answer yet: %w", ctx.Err())
	}
}
