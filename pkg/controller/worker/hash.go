// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"slices"

	"github.com/gardener/gardener/extensions/pkg/controller/worker"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// className returns the name of the zone's machine class. A new name rolls the machines of the zone. Beside what Gardener rolls
// machines for it has the zone's site, the pool's data volumes and what the platform asks for; docs/usage/node-rolling.md lists
// all of it. The latter two are left out for pools that are updated in place: no update gives a machine that exists other volumes.
func className(f *facts, z *zone, platformRollsFor []string) (string, error) {
	inPlace := []string{z.siteName}
	additional := []string{z.siteName}
	for _, volume := range z.spec.DataVolumes {
		additional = append(additional, fmt.Sprintf("%s/%s/%s", volume.Name, volume.Size, ptr.Deref(volume.Type, "")))
	}
	additional = append(additional, slices.Sorted(slices.Values(platformRollsFor))...)

	hash, err := worker.WorkerPoolHash(*z.spec, f.cluster, additional, inPlace)
	if err != nil {
		return "", platform.NewError(platform.ClassConfiguration, "hash of the pool: %w", err)
	}
	return fmt.Sprintf("%s-%s", z.deploymentName, hash), nil
}
