// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// Classify gives an error of a Kubernetes API its class. Errors that have a class keep it; nil stays nil.
func Classify(err error) error {
	if err == nil || platform.IsClassified(err) {
		return err
	}
	result := &platform.Error{Class: classOf(err), Err: platform.Foreign(err)}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && result.Class == platform.ClassTransient {
		result.RetryAfter = time.Duration(seconds) * time.Second
	}
	return result
}

// IgnoreNotFound classifies err and returns nil if the API said that the object does not exist.
func IgnoreNotFound(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return Classify(err)
}

// IsNotFound reports whether the API said that an object does not exist. That it does not serve such objects says nothing.
func IsNotFound(err error) bool {
	return err != nil && platform.ClassOf(Classify(err)) == platform.ClassNotFound
}

func classOf(err error) platform.Class {
	switch {
	case transport.IsUntrusted(err), isNotServed(err):
		return platform.ClassConfiguration
	case apierrors.IsUnauthorized(err):
		return platform.ClassUnauthenticated
	case apierrors.IsForbidden(err):
		return platform.ClassForbidden
	case apierrors.IsNotFound(err):
		return platform.ClassNotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return platform.ClassConflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err),
		apierrors.IsUnsupportedMediaType(err), apierrors.IsRequestEntityTooLargeError(err):
		return platform.ClassConfiguration
	default:
		return platform.ClassTransient
	}
}

// isNotServed reports whether err means that the API does not serve a kind, or is not a Kubernetes API at all.
func isNotServed(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
