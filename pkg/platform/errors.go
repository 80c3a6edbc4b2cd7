// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
)

// Class is the kind of problem that an error reports, and thus determines who can solve it. A platform's client sets the class once, from
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
	// ClassConflict means that the operation is refused because of an object's state or because others use the object.
	ClassConflict Class = "Conflict"
	// ClassConfiguration means that the configuration is wrong and must be changed.
	ClassConfiguration Class = "Configuration"
	// ClassTransient means that the same operation may succeed later.
	ClassTransient Class = "Transient"
)

// Progress replaces the class in errors for machine-controller-manager that report an operation still in progress, not a failure.
const Progress = "Progress"

// Error is an error of a site with its class.
type Error struct {
	// Class is the kind of the problem.
	Class Class
	// Site is the name of the site, if known.
	Site string
	// Progress is true if the operation is still in progress and the message says how far it is. The class is then ClassTransient.
	Progress bool
	// RetryAfter is the delay that the site asked for, zero if it asked for none.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

// Error returns the name of the site and the message of the cause, truncated to what fits into a status or an event.
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

// NewProgress returns an error of ClassTransient that says how far an operation is that is still in progress.
func NewProgress(format string, args ...any) *Error {
	return &Error{Class: ClassTransient, Progress: true, Err: fmt.Errorf(format, args...)}
}

// IsClassified reports whether err, or one that it wraps, has a class.
func IsClassified(err error) bool {
	var classified *Error
	return errors.As(err, &classified)
}

// IsProgress reports whether err, or each of joined errors, only says how far an operation is that is still in progress.
func IsProgress(err error) bool {
	if joined := joinedErrors(err); joined != nil {
		return !slices.ContainsFunc(joined, func(err error) bool { return !IsProgress(err) })
	}
	var classified *Error
	return errors.As(err, &classified) && classified.Progress
}

// ClassOf returns the class of err: that of the outermost classified error in a chain, and the first class other than ClassTransient of
// joined errors, because waiting does not solve that one. It returns ClassTransient if err has no class.
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

// InSite adds the name of the site to err, or to each of joined errors. It keeps the classes. It returns nil if err is nil.
func InSite(site string, err error) error {
	if err == nil {
		return nil
	}
	if joined := joinedErrors(err); joined != nil {
		return errors.Join(lists.Map(joined, func(err error) error { return InSite(site, err) })...)
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

// NameSite is InSite for the named result of a function that defers it.
func NameSite(site string, err *error) {
	*err = InSite(site, *err)
}

// joinedErrors returns the errors wrapped by a plain errors.Join.
func joinedErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) // only err itself can be split
	if !ok || len(joined.Unwrap()) == 0 || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return nil
	}
	return joined.Unwrap()
}
