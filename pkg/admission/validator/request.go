// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var (
	specPath           = field.NewPath("spec")
	networkingPath     = specPath.Child("networking")
	providerPath       = specPath.Child("provider")
	infrastructurePath = providerPath.Child("infrastructureConfig")
	controlPlanePath   = providerPath.Child("controlPlaneConfig")
	workersPath        = providerPath.Child("workers")
	profileConfigPath  = specPath.Child("providerConfig")
)

func undecodable(err error) field.ErrorList {
	return field.ErrorList{field.Invalid(profileConfigPath, "(hidden)", err.Error())}
}

// typed returns the objects of a request as objects of type T. The old object is nil if there is none.
func typed[T client.Object](newObj, oldObj client.Object) (object, old T, err error) {
	object, ok := newObj.(T)
	if !ok {
		return object, old, fmt.Errorf("expected %T, got %T", object, newObj)
	}
	if oldObj == nil {
		return object, old, nil
	}
	if old, ok = oldObj.(T); !ok {
		return object, old, fmt.Errorf("expected %T as the old object, got %T", object, oldObj)
	}
	return object, old, nil
}

// warningsKey is the key of the warnings in the context of a request.
type warningsKey struct{}

// WithWarnings adds the warnings of validators to the response. Gardener's validators cannot return warnings, so they
// store them in the context.
func WithWarnings(handler admission.Handler) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		var warnings []string
		response := handler.Handle(context.WithValue(ctx, warningsKey{}, &warnings), request)
		if response.Allowed {
			response.Warnings = append(response.Warnings, warnings...)
		}
		return response
	})
}

// warn stores the warnings in the context. find is only called if they are wanted.
func warn(ctx context.Context, find func() []string) {
	if warnings, ok := ctx.Value(warningsKey{}).(*[]string); ok {
		*warnings = append(*warnings, find()...)
	}
}
