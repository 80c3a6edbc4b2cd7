// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package errorcodes maps the classes of platform errors to Gardener's error codes.
package errorcodes

import (
	"regexp"
	"slices"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// codes has no entry for transient errors. Missing objects and conflicts have retryable codes, because Gardener stops reconciling the
// shoot, including its healthy sites, after other codes.
var codes = map[platform.Class]gardencorev1beta1.ErrorCode{
	platform.ClassUnauthenticated: gardencorev1beta1.ErrorInfraUnauthenticated,
	platform.ClassForbidden:       gardencorev1beta1.ErrorInfraUnauthorized,
	platform.ClassQuota:           gardencorev1beta1.ErrorInfraQuotaExceeded,
	platform.ClassExhausted:       gardencorev1beta1.ErrorInfraResourcesDepleted,
	platform.ClassNotFound:        gardencorev1beta1.ErrorRetryableConfigurationProblem,
	platform.ClassConflict:        gardencorev1beta1.ErrorRetryableInfraDependencies,
	platform.ClassConfiguration:   gardencorev1beta1.ErrorConfigurationProblem,
}

// Codes returns the codes of all errors that err joins, without duplicates, in their order. Of a chain of errors it uses the outermost one
// with a class or codes.
func Codes(err error) []gardencorev1beta1.ErrorCode {
	var found []gardencorev1beta1.ErrorCode
	collect(err, func(code gardencorev1beta1.ErrorCode) {
		if !slices.Contains(found, code) {
			found = append(found, code)
		}
	})
	return found
}

// WithCodes returns err with its codes, which Gardener writes to the status of the object. An error without codes is returned as is.
func WithCodes(err error) error {
	found := Codes(err)
	if len(found) == 0 {
		return err
	}
	return v1beta1helper.NewErrorWithCodes(err, found...)
}

func collect(err error, add func(gardencorev1beta1.ErrorCode)) {
	switch e := err.(type) { //nolint:errorlint // the parts of err are looked at one by one
	case nil:
	case *platform.Error:
		if code, ok := codes[e.Class]; ok {
			add(code)
		}
	case v1beta1helper.Coder:
		for _, code := range e.Codes() {
			add(code)
		}
	case interface{ WrappedErrors() []error }:
		for _, wrapped := range e.WrappedErrors() {
			collect(wrapped, add)
		}
	case interface{ Unwrap() []error }:
		for _, wrapped := range e.Unwrap() {
			collect(wrapped, add)
		}
	case interface{ Unwrap() error }:
		collect(e.Unwrap(), add)
	}
}

// failedMachine matches the class and the message in the description of a machine's operation, as written by the driver.
var failedMachine = regexp.MustCompile(`code = \[\w+\] message = \[(\w+): ([^]]*)`)

// IsProgress reports whether the description of a machine's operation says that the operation is still in progress.
func IsProgress(description string) bool {
	found := failedMachine.FindStringSubmatch(description)
	return found != nil && found[1] == platform.Progress
}

// OfMachine returns the classified error in the description of a machine's operation. It returns nil if there is none, or the operation is
// still in progress.
func OfMachine(description string) error {
	found := failedMachine.FindStringSubmatch(description)
	if found == nil || found[1] == platform.Progress {
		return nil
	}
	return platform.NewError(platform.Class(found[1]), "%s", found[2])
}

// OfMachines returns the codes of an error that quotes descriptions of failed machines.
func OfMachines(err error) []gardencorev1beta1.ErrorCode {
	if err == nil {
		return nil
	}
	var found []gardencorev1beta1.ErrorCode
	for _, match := range failedMachine.FindAllStringSubmatch(err.Error(), -1) {
		if code, ok := codes[platform.Class(match[1])]; ok && !slices.Contains(found, code) {
			found = append(found, code)
		}
	}
	return found
}
