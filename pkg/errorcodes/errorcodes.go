// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package errorcodes says which of Gardener's error codes the classes of platform errors are.
package errorcodes

import (
	"regexp"
	"slices"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// codes has no entry for a class that Gardener simply tries again. A missing object and a conflict have retryable codes: a
// code that is not retryable makes Gardener give up the shoot, and with it the sites that are well.
var codes = map[platform.Class]gardencorev1beta1.ErrorCode{
	platform.ClassUnauthenticated: gardencorev1beta1.ErrorInfraUnauthenticated,
	platform.ClassForbidden:       gardencorev1beta1.ErrorInfraUnauthorized,
	platform.ClassQuota:           gardencorev1beta1.ErrorInfraQuotaExceeded,
	platform.ClassExhausted:       gardencorev1beta1.ErrorInfraResourcesDepleted,
	platform.ClassNotFound:        gardencorev1beta1.ErrorRetryableConfigurationProblem,
	platform.ClassConflict:        gardencorev1beta1.ErrorRetryableInfraDependencies,
	platform.ClassConfiguration:   gardencorev1beta1.ErrorConfigurationProblem,
}

// Codes returns the codes of all errors that err joins, each once and in the order of their appearance. Of a chain of errors
// the outermost with a class or with codes counts.
func Codes(err error) []gardencorev1beta1.ErrorCode {
	var found []gardencorev1beta1.ErrorCode
	collect(err, func(code gardencorev1beta1.ErrorCode) {
		if !slices.Contains(found, code) {
			found = append(found, code)
		}
	})
	return found
}

// WithCodes returns err with its codes, so that Gardener writes them into the status of the object. An error without codes is
// returned as it is.
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

// failedMachine finds class and message in the errors of machines, as the driver of machine-controller-manager writes them.
var failedMachine = regexp.MustCompile(`code = \[\w+\] message = \[(\w+): ([^]]*)`)

// IsProgress reports whether the error of a machine, as the driver of machine-controller-manager writes it, is none, because what was
// asked for goes on.
func IsProgress(description string) bool {
	found := failedMachine.FindStringSubmatch(description)
	return found != nil && found[1] == platform.Progress
}

// OfMachine returns the error of a machine, as the driver of machine-controller-manager writes it, with its class. It is nil if the
// description tells of no error of the driver, or only how far something is that goes on.
func OfMachine(description string) error {
	found := failedMachine.FindStringSubmatch(description)
	if found == nil || found[1] == platform.Progress {
		return nil
	}
	return platform.NewError(platform.Class(found[1]), "%s", found[2])
}

// OfMachines returns the codes of an error that quotes the errors of failed machines.
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
