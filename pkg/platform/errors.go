// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"fmt"
	"time"
)

// Class says what kind of problem an error is, and so who can solve it. A platform's client decides the class once, from
// typed errors.
type Class string

const (
	// ClassUnauthenticated means that the credentials were refused.
	ClassUnauthenticated Class = "Unauthenticated"
	// ClassForbidden means that the credentials do not allow the operation.
	ClassForbidden Class = "Forbidden"
	// ClassQuota means that a quota of the project or user is used up.
	ClassQuota Class = "Quota"
	// ClassExhausted means that the site has no capacity left for the request.
	ClassExhausted Class = "Exhausted"
	// ClassNotFound means that a referenced object does not exist.
	ClassNotFound Class = "NotFound"
	// ClassConflict means that an object is in a state, or used by others, so that the operation is refused.
	ClassConflict Class = "Conflict"
	// ClassConfiguration means that the configuration is wrong and only a change of it helps.
	ClassConfiguration Class = "Configuration"
	// ClassTransient means that the same operation may succeed later.
	ClassTransient Class = "Transient"
)

// Progress stands for the class where machine-controller-manager is told of an error that is none, because what was asked for goes
// on.
const Progress = "Progress"

// Error is an error of a site with its class.
type Error struct {
	// Class is the kind of the problem.
	Class Class
	// Site is the name of the site, if known.
	Site string
	// Progress is true if nothing is wrong: what was asked for goes on, and the message says how far it is. The class is
	// ClassTransient then.
	Progress bool
	// RetryAfter is how long the site asked to wait; zero if it did not.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

// Error returns the message of the cause behind the name of the site. It is cut if there is no room for it in a status or an event.
func (e *Error) Error() string {
	message := e.Err.Error()
	if e.Site != "" {
		message = fmt.Sprintf("site %q: %s", e.Site, message)
	}
	return cut(message, maxMessage)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	return e.Err
}

// NewError returns an error of the class with a formatted message.
func NewError(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Err: fmt.Errorf(format, args...)}
}

// NewProgress returns an error that says how far something is that goes on. It is of ClassTransient.
func NewProgress(format string, args ...any) *Error {
	return &Error{Class: ClassTransient, Progress: true, Err: fmt.Errorf(format, args...)}
}

// IsProgress reports whether err says how far something is that goes on, and nothing else.
func IsProgress(err error) bool {
	var classified *Error
	return errors.As(err, &classified) && classified.Progress && joinedErrors(err) == nil
}

// ClassOf returns the class of err: of a chain of errors that of the outermost classified one, of joined errors the first that
// is not ClassTransient, because waiting alone does not solve that one. It is ClassTransient if there is no class.
func ClassOf(err error) Class {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case *Error:
		return e.Class
	case interface{ Unwrap() []error }:
		for _, joined := range e.Unwrap() {
			if class := ClassOf(joined); class != ClassTransient {
				return class
			}
		}
	case interface{ Unwrap() error }:
		return ClassOf(e.Unwrap())
	}
	return ClassTransient
}

// InSite names the site in err, in each if errors are joined. It keeps the classes and returns nil for nil.
func InSite(site string, err error) error {
	if err == nil {
		return nil
	}
	if joined := joinedErrors(err); joined != nil {
		errs := make([]error, len(joined))
		for i := range joined {
			errs[i] = InSite(site, joined[i])
		}
		return errors.Join(errs...)
	}
	result := &Error{Class: ClassOf(err), Site: site, Err: err}
	var classified *Error
	if errors.As(err, &classified) {
		if classified.Site == site {
			return err
		}
		result.RetryAfter, result.Progress = classified.RetryAfter, classified.Progress
	}
	return result
}

// joinedErrors returns the parts of an error that says nothing but what they say.
func joinedErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) // only err itself can be split
	if !ok || len(joined.Unwrap()) == 0 || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return nil
	}
	return joined.Unwrap()
}
