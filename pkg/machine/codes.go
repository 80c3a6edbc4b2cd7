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

// codeOf returns the code of a class. NotFound is what machine-controller-manager takes for the proof that there is no such
// machine: it creates one, or ends a deletion. Only the look at a machine can prove that. What else is not found is an image,
// a network or the like, and that is tried again after minutes.
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

// brackets replaces what machine-controller-manager looks for when it reads the code out of an error's text.
var brackets = strings.NewReplacer("[", "(", "]", ")")

// toStatus returns err as machine-controller-manager reads it. The message begins with the class, or says that there is progress.
func toStatus(operation, siteName string, err error) *status.Status {
	class := platform.ClassOf(err)
	word := string(class)
	if platform.IsProgress(err) {
		word = platform.Progress
	}
	if siteName != "" {
		err = platform.InSite(siteName, err)
	}
	message := brackets.Replace(fmt.Sprintf("%s: %v", word, err))
	return status.WrapError(codeOf(operation, class), message, err)
}

// classOf returns the class of an error of call. Its code does not tell, as a conflict has that of a transient error.
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

// recoded gives an error of call another code.
func recoded(err error, code codes.Code) error {
	var failure *status.Status
	if !errors.As(err, &failure) {
		return err
	}
	return status.WrapError(code, failure.Message(), failure.Cause())
}
