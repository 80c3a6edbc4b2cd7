// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// SiteKey is the key of the site's name in the secrets of a request.
const SiteKey = "cloud"

// OpenStatus returns the response for a site that cannot be opened. An operation of an earlier request may still be running there, so the
// caller must retry.
func OpenStatus(err error) error {
	if platform.ClassOf(err) == platform.ClassNotFound {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return status.Error(codes.Unavailable, err.Error())
}

// CodeOf returns the code of the response for an error of the class, or other if the class has none. Callers repeat requests that are
// Unavailable, and consider most other codes final.
func CodeOf(class platform.Class, other codes.Code) codes.Code {
	switch class {
	case platform.ClassTransient, platform.ClassUnauthenticated:
		return codes.Unavailable
	case platform.ClassQuota, platform.ClassExhausted:
		return codes.ResourceExhausted
	case platform.ClassForbidden:
		return codes.PermissionDenied
	}
	return other
}
