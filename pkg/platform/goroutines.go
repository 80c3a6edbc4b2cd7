// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"
)

// All goroutines that call a site are started here: a panic in one of them fails that call, not the process.

// Each calls do concurrently with 0 to n-1, and returns the errors in this order.
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

// Answer is the result of a call of a site.
type Answer[T any] struct {
	// Value is the result.
	Value T
	// Err is why there is no value.
	Err error
}

// Ask calls ask in a goroutine. The caller need not receive the answer.
func Ask[T any](ask func() (T, error)) <-chan Answer[T] {
	answers := make(chan Answer[T], 1)
	go func() {
		value, err := Safely(ask)
		answers <- Answer[T]{Value: value, Err: err}
	}()
	return answers
}

// Shared lets concurrent calls share one result. The zero value is ready to use.
type Shared[T any] struct {
	group singleflight.Group
}

// Do returns the result of do, or that of a call with the same key that is in flight. The context of do is not canceled, because others
// may wait for it: Do returns an error of ClassTransient when ctx ends.
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

// maxFrames is how many frames of the stack of a panic are logged.
const maxFrames = 8

var errInternal = errors.New("internal error, see the log")

// Recover is deferred in goroutines: one answer of one site must not end the process, which serves others. It turns a panic into an error
// of ClassTransient, and logs its stack.
func Recover(err *error) {
	if r := recover(); r != nil {
		klog.ErrorS(nil, "Panic", "reason", Printable(fmt.Sprint(r)), "stack", stack())
		*err = &Error{Class: ClassTransient, Err: errInternal}
	}
}

// Safely calls do, and returns an error of ClassTransient if it panics.
func Safely[T any](do func() (T, error)) (result T, err error) {
	defer Recover(&err)
	return do()
}

// Try is Safely for functions that return only an error.
func Try(do func() error) (err error) {
	defer Recover(&err)
	return do()
}

// stack returns the innermost frames of a panic.
func stack() string {
	var (
		counters = make([]uintptr, 64)
		frames   = runtime.CallersFrames(counters[:runtime.Callers(1, counters)])
		told     []string
		panicked bool
	)
	for {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") {
			told = append(told, fmt.Sprintf("%s:%d", path.Base(frame.Function), frame.Line))
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more || len(told) == maxFrames {
			return strings.Join(told, " < ")
		}
	}
}
