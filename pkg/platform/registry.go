// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"maps"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// Registry maps platforms to their parts for one consumer.
type Registry[T any] map[v1alpha1.Platform]T

// For returns the platform's part. The error is of ClassConfiguration and lists the supported platforms.
func (r Registry[T]) For(p v1alpha1.Platform) (T, error) {
	part, ok := r[p]
	if !ok {
		return part, NewError(ClassConfiguration, "platform %q is not supported; supported platforms: %q", p, r.Platforms())
	}
	return part, nil
}

// Platforms returns the names of the platforms in alphabetical order.
func (r Registry[T]) Platforms() []v1alpha1.Platform {
	return slices.Sorted(maps.Keys(r))
}
