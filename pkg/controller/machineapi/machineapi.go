// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineapi has what controllers share that watch and write the objects of machine-controller-manager. Self-hosted shoots on
// unmanaged machines do not have its API. They have neither Infrastructures nor Workers, so code that lists machines for these can rely on
// the API.
package machineapi

import (
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// IsWatchable returns whether machines can be watched: a controller does not start if it watches a missing API. Seeds that are not
// self-hosted shoots always have the API and are not queried.
func IsWatchable(selfHosted bool, mapper meta.RESTMapper) (bool, error) {
	if !selfHosted {
		return true, nil
	}
	if _, err := mapper.KindsFor(machinev1alpha1.SchemeGroupVersion.WithResource("machines")); err != nil {
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return false, fmt.Errorf("discovering the API of machines: %w", err)
	}
	return true, nil
}

// IgnoreMissing returns nil if the error is that the cluster does not have the API, and therefore no machines.
func IgnoreMissing(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
