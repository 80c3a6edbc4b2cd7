// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var classCodes = map[platform.Class]codes.Code{
	platform.ClassUnauthenticated: codes.Unauthenticated,
	platform.ClassForbidden:       codes.PermissionDenied,
	platform.ClassQuota:           codes.ResourceExhausted,
	platform.ClassExhausted:       codes.ResourceExhausted,
	platform.ClassConflict:        codes.Unavailable,
	platform.ClassConfiguration:   codes.InvalidArgument,
	platform.ClassTransient:       codes.Unavailable,
}

// codeOf returns the code of a class. For machine-controller-manager NotFound proves that the machine does not exist: it creates the
// machine, or completes its deletion. Only GetMachineStatus can prove that. In other operations an image, a network or the like was not
// found; with FailedPrecondition they are retried after minutes.
func codeOf(operation string, class platform.Class) codes.Code {
	if class == platform.ClassNotFound {
		if operation == operationGet {
			return codes.NotFound
		}
		return codes.FailedPrecondition
	}
	if code, ok := classCodes[class]; ok {
		return code
	}
	return codes.Unavailable
}

// brackets replaces the brackets by which machine-controller-manager parses codes out of error messages.
var brackets = strings.NewReplacer("[", "(", "]", ")")

// toStatus returns err as a status of machine-controller-manager. The message begins with the class, or with Progress.
func toStatus(operation, siteName string, err error) *status.Status {
	class := platform.ClassOf(err)
	prefix := string(class)
	if platform.IsProgress(err) {
		prefix = platform.Progress
	}
	if siteName != "" {
		err = platform.InSite(siteName, err)
	}
	message := brackets.Replace(fmt.Sprintf("%s: %v", prefix, err))
	return status.WrapError(codeOf(operation, class), message, err)
}

// classOf returns the class of an error of call, which its code does not determine.
func classOf(err error) platform.Class {
	var failure *status.Status
	if !errors.As(err, &failure) {
		return ""
	}
	return platform.ClassOf(failure.Cause())
}

func isTransient(err error) bool {
	return classOf(err) == platform.ClassTransient
}

// recoded returns an error of call with another code.
func recoded(err error, code codes.Code) error {
	var failure *status.Status
	if !errors.As(err, &failure) {
		return err
	}
	return status.WrapError(code, failure.Message(), failure.Cause())
}
