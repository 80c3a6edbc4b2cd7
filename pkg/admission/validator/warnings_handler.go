// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// warningsKey is the key of the warnings in the context of a request.
type warningsKey struct{}

// WithWarnings adds the warnings of Shoots and CloudProfiles to what the handler answers. Gardener's validators cannot return any, so they
// leave them in the context.
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

// warn leaves the warnings in the context. find is called if they are wanted.
func warn(ctx context.Context, find func() []string) {
	if warnings, ok := ctx.Value(warningsKey{}).(*[]string); ok {
		*warnings = append(*warnings, find()...)
	}
}

// warnings returns those of a Shoot.
func (v *shootValidator) warnings(ctx context.Context, c *change) []string {
	var seed *gardencorev1beta1.Seed
	if name := c.new.shoot.Spec.SeedName; name != nil {
		found := &gardencorev1beta1.Seed{}
		if err := v.api.Get(ctx, client.ObjectKey{Name: *name}, found); err == nil {
			seed = found
		} else {
			// A mistake in finding warnings is none of the Shoot's.
			logf.FromContext(ctx).Info("The Seed is not looked at", "seed", *name, "error", err.Error())
		}
	}
	return c.warnings(seed)
}
