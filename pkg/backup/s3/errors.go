// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/minio/minio-go/v7"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// classes are those of error codes whose status does not determine the class.
var classes = map[string]platform.Class{
	"ExpiredToken":                     platform.ClassUnauthenticated,
	"XAdminUserNotFound":               platform.ClassUnauthenticated, // of versitygw, with 404
	"InvalidToken":                     platform.ClassUnauthenticated,
	minio.InvalidAccessKeyID:           platform.ClassUnauthenticated,
	minio.SignatureDoesNotMatch:        platform.ClassUnauthenticated,
	minio.RequestTimeTooSkewed:         platform.ClassConfiguration,
	minio.BucketAlreadyExists:          platform.ClassConfiguration,
	"InvalidBucketState":               platform.ClassConfiguration,
	minio.MethodNotAllowed:             platform.ClassConfiguration,
	minio.NotImplemented:               platform.ClassConfiguration,
	"QuotaExceeded":                    platform.ClassQuota,
	"ServiceQuotaExceeded":             platform.ClassQuota,
	"TooManyBuckets":                   platform.ClassQuota,
	"XMinioAdminBucketQuotaExceeded":   platform.ClassQuota,
	"XMinioStorageFull":                platform.ClassExhausted,
	"RequestTimeout":                   platform.ClassTransient,
	"SlowDown":                         platform.ClassTransient,
	"OperationAborted":                 platform.ClassTransient,
	minio.AuthorizationHeaderMalformed: platform.ClassConfiguration,
}

// classify assigns a class to an error of minio-go, and removes what may not be shown. Classified errors are returned unchanged.
func classify(err error) error {
	if err == nil || platform.IsClassified(err) {
		return err
	}
	var response minio.ErrorResponse
	if !errors.As(err, &response) {
		return &platform.Error{Class: platform.ClassTransient, Err: platform.Foreign(err)}
	}
	return &platform.Error{Class: classOf(response), Err: &apiError{response}}
}

func classOf(response minio.ErrorResponse) platform.Class {
	if class, ok := classes[response.Code]; ok {
		return class
	}
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return platform.ClassUnauthenticated
	case http.StatusForbidden:
		return platform.ClassForbidden
	case http.StatusNotFound:
		return platform.ClassNotFound
	case http.StatusConflict:
		return platform.ClassConflict
	case http.StatusBadRequest:
		return platform.ClassConfiguration
	case http.StatusInsufficientStorage:
		return platform.ClassExhausted
	case 0:
		if response.Code == minio.AccessDenied { // of one of several deletions
			return platform.ClassForbidden
		}
	}
	return platform.ClassTransient
}

// apiError shows the code and the message of an error response.
type apiError struct {
	response minio.ErrorResponse
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: %s", platform.Printable(e.response.Code),
		cmp.Or(platform.Printable(e.response.Message), http.StatusText(e.response.StatusCode)))
}

// Unwrap returns minio-go's error.
func (e *apiError) Unwrap() error {
	return e.response
}

// is reports whether err is an error response with one of the codes.
func is(err error, codes ...string) bool {
	var response minio.ErrorResponse
	return errors.As(err, &response) && slices.Contains(codes, response.Code)
}

// isUnsupported reports whether the store does not support a request.
func isUnsupported(err error) bool {
	return is(err, minio.NotImplemented, minio.MethodNotAllowed, minio.APINotSupported)
}
