// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator

import (
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// setWorkerDefaults defaults the priority of a pool and the limits of its sites. It is a no-op for a pool without a configuration.
func setWorkerDefaults(worker *gardencorev1beta1.Worker) error {
	config, ok := decode[v1alpha1.WorkerConfig](worker.ProviderConfig)
	if !ok {
		return nil
	}
	// Gardener uses priorities of machine deployments only if a pool has one.
	if worker.Priority == nil && slices.ContainsFunc(config.Sites, func(site v1alpha1.WorkerSite) bool { return site.Priority != nil }) {
		worker.Priority = new(int32(0))
	}
	if !setLimits(config.Sites, worker) {
		return nil
	}
	raw, err := codec.Encode(config)
	if err != nil {
		return err
	}
	worker.ProviderConfig = raw
	return nil
}

// setLimits completes the limits of sites if some are set, and reports whether it changed them. A maximum defaults to that of the pool. A
// minimum defaults to the rest of the pool's minimum if that is zero or only one site has no minimum.
func setLimits(sites []v1alpha1.WorkerSite, worker *gardencorev1beta1.Worker) bool {
	var (
		rest    = worker.Minimum
		open    []*v1alpha1.WorkerSite
		changed bool
	)
	if !slices.ContainsFunc(sites, func(site v1alpha1.WorkerSite) bool { return site.Minimum != nil || site.Maximum != nil }) {
		return false
	}
	for i := range sites {
		if sites[i].Maximum == nil {
			sites[i].Maximum = new(worker.Maximum)
			changed = true
		}
		if sites[i].Minimum == nil {
			open = append(open, &sites[i])
		} else {
			rest -= *sites[i].Minimum
		}
	}
	if rest == 0 || rest > 0 && len(open) == 1 {
		for _, site := range open {
			site.Minimum = new(rest)
			changed = true
		}
	}
	return changed
}
