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

// Error is an error of a site with its class.
type Error struct {
	// Class is the kind of the problem.
	Class Class
	// Site is the name of the site, if known.
	Site string
	// RetryAfter is how long the site asked to wait; zero if it did not.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

// Error returns the message of the cause behind the name of the site.
func (e *Error) Error() string {
	if e.Site == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("site %q: %v", e.Site, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	return e.Err
}

// NewError returns an error of the class with a formatted message.
func NewError(class Class, format string, args ...any) *Error {
	return &Error{Class: class, Err: fmt.Errorf(format, args...)}
}

// ClassOf returns the class of the first classified error in err's tree, and ClassTransient if there is none.
func ClassOf(err error) Class {
	var classified *Error
	if errors.As(err, &classified) {
		return classified.Class
	}
	return ClassTransient
}

// InSite names the site in err. It keeps the class and returns nil for nil.
func InSite(site string, err error) error {
	if err == nil {
		return nil
	}
	var classified *Error
	if errors.As(err, &classified) {
		if classified.Site == site {
			return err
		}
		return &Error{Class: classified.Class, Site: site, RetryAfter: classified.RetryAfter, Err: err}
	}
	return &Error{Class: ClassTransient, Site: site, Err: err}
}
