// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// className returns the name of the zone's machine class. A new name rolls the machines of the zone. It has the zone's site
// beside what Gardener rolls machines for; docs/usage/node-rolling.md lists all of it.
func (d *delegate) className(spec *extensionsv1alpha1.WorkerPool, z *zone) (string, error) {
	additional := []string{z.siteName}
	hash, err := worker.WorkerPoolHash(*spec, d.cluster, additional, additional)
	if err != nil {
		return "", platform.NewError(platform.ClassConfiguration, "hash of the pool: %w", err)
	}
	return fmt.Sprintf("%s-%s", z.deploymentName, hash), nil
}
