// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"k8s.io/klog/v2"
)

// maxFrames are told of the stack of a panic, those next to it.
const maxFrames = 8

var errInternal = errors.New("internal error, see the log")

// Recover is deferred by what runs in a goroutine of its own: one answer of one site must not end the process, which serves others. It
// makes an error of ClassTransient of a panic, and logs where it was.
func Recover(err *error) {
	if r := recover(); r != nil {
		klog.ErrorS(nil, "Panic", "reason", Printable(fmt.Sprint(r)), "stack", stack())
		*err = &Error{Class: ClassTransient, Err: errInternal}
	}
}

// Safely returns what do returns, and an error of ClassTransient if it panics.
func Safely[T any](do func() (T, error)) (result T, err error) {
	defer Recover(&err)
	return do()
}

// Try is Safely for what returns nothing but an error.
func Try(do func() error) (err error) {
	defer Recover(&err)
	return do()
}

// stack returns where a panic was, in few words.
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
