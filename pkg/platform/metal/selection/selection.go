// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package selection says which hosts of a bare-metal site are for the machines of a pool in a zone.
package selection

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// Hosts are hosts that machines may be.
type Hosts struct {
	// Selector selects them by their labels. It is never nil: one that is empty selects all.
	Selector *metav1.LabelSelector
	// Tolerations are the taints that do not matter.
	Tolerations []corev1.Toleration
}

// source is who selects hosts.
type source struct {
	name     string
	selector *metav1.LabelSelector
}

// Of returns the hosts that the zone, the machine type and the pool select together. Each may be nil and selects all then. The error is
// of platform.ClassConfiguration if they contradict each other, and names the label.
func Of(zone *v1alpha1.MetalZone, machineType *v1alpha1.MetalMachineType, pool *v1alpha1.MetalWorker) (Hosts, error) {
	var (
		hosts   = Hosts{Selector: &metav1.LabelSelector{}}
		sources []source
	)
	if zone != nil {
		sources = append(sources, source{"zone", zone.HostSelector})
	}
	if machineType != nil {
		sources = append(sources, source{"machine type", machineType.HostSelector})
		hosts.tolerate(machineType.Tolerations)
	}
	if pool != nil {
		sources = append(sources, source{"pool", pool.HostSelector})
		hosts.tolerate(pool.Tolerations)
	}
	return hosts, hosts.narrow(sources)
}

// Selection returns the hosts as an inventory wants them. cleaning says what is wiped when one is released.
func (h Hosts) Selection(cleaning string) (inventory.Selection, error) {
	selector, err := metav1.LabelSelectorAsSelector(h.Selector)
	if err != nil {
		return inventory.Selection{}, platform.NewError(platform.ClassConfiguration, "hostSelector: %w", err)
	}
	return inventory.Selection{Selector: selector, Tolerations: h.Tolerations, Cleaning: cleaning}, nil
}

// narrow adds what the sources select.
func (h *Hosts) narrow(sources []source) error {
	var (
		saidBy = map[string]string{}
		errs   []error
	)
	for _, s := range sources {
		if s.selector == nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(s.selector.MatchLabels)) {
			value := s.selector.MatchLabels[key]
			if other, ok := h.Selector.MatchLabels[key]; ok && other != value {
				errs = append(errs, platform.NewError(platform.ClassConfiguration,
					"no host can have label %q with %q, which the hostSelector of the %s wants, and with %q, which that of the %s wants", key, other, saidBy[key], value, s.name))
				continue
			}
			metav1.AddLabelToSelector(h.Selector, key, value)
			saidBy[key] = s.name
		}
		for _, expression := range s.selector.MatchExpressions {
			h.Selector.MatchExpressions = append(h.Selector.MatchExpressions, *expression.DeepCopy())
		}
	}
	return errors.Join(errs...)
}

// tolerate adds tolerations that are not there yet.
func (h *Hosts) tolerate(tolerations []corev1.Toleration) {
	for _, toleration := range tolerations {
		if !slices.ContainsFunc(h.Tolerations, func(t corev1.Toleration) bool { return equality.Semantic.DeepEqual(t, toleration) }) {
			h.Tolerations = append(h.Tolerations, toleration)
		}
	}
}
