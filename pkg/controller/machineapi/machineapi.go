// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package machineapi finds out whether a cluster has the API of machine-controller-manager. A self-hosted shoot on machines that
// Gardener does not make is without. It has no Infrastructure and no Worker either: what looks at machines for those asks for an API that
// is there.
package machineapi

import (
	"fmt"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// IsWatchable reports whether machines can be watched: a watch of what the cluster does not have would keep a controller from starting.
// Seeds that are no self-hosted shoots all have the API and are not asked.
func IsWatchable(selfHosted bool, mapper meta.RESTMapper) (bool, error) {
	if !selfHosted {
		return true, nil
	}
	if _, err := mapper.KindsFor(machinev1alpha1.SchemeGroupVersion.WithResource("machines")); err != nil {
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return false, fmt.Errorf("looking for the API of machines: %w", err)
	}
	return true, nil
}

// IgnoreMissing returns nil if the error says that the cluster does not have the API, so that there are no machines.
func IgnoreMissing(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
