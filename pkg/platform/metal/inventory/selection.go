// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Selection selects hosts.
type Selection struct {
	// Selector selects them by their labels.
	Selector labels.Selector
	// Tolerations are the taints of hosts that do not matter.
	Tolerations []corev1.Toleration
	// OSRelease is the operating system that hosts must have, nil if their inventory writes one.
	OSRelease *v1alpha1.MetalOSRelease
	// Cleaning says what is wiped when a host is released.
	Cleaning string
}

// Matches reports whether the selection selects a host with the labels.
func (s *Selection) Matches(hostLabels map[string]string) bool {
	return s.Selector == nil || s.Selector.Matches(labels.Set(hostLabels))
}

// Tolerates reports whether a taint of a host does not matter.
func (s *Selection) Tolerates(taint corev1.Taint) bool {
	return slices.ContainsFunc(s.Tolerations, func(toleration corev1.Toleration) bool {
		if toleration.Key != taint.Key || toleration.Effect != "" && toleration.Effect != taint.Effect {
			return false
		}
		switch toleration.Operator {
		case corev1.TolerationOpExists:
			return true
		case corev1.TolerationOpEqual, "":
			return toleration.Value == taint.Value
		default:
			return false
		}
	})
}

// Requirements are what machines of a pool in a zone require of hosts.
type Requirements struct {
	// Selector selects them by their labels. It is never nil: one that is empty selects all.
	Selector *metav1.LabelSelector
	// Tolerations are the taints that do not matter.
	Tolerations []corev1.Toleration
}

// source is a selector and what has it.
type source struct {
	name     string
	selector *metav1.LabelSelector
}

// RequirementsOf joins the requirements of the zone, the machine type and the pool, each of which may be nil. The error is of
// platform.ClassConfiguration and names the label if they contradict each other.
func RequirementsOf(zone *v1alpha1.MetalZone, machineType *v1alpha1.MetalMachineType, pool *v1alpha1.MetalWorker) (Requirements, error) {
	var (
		joined  = Requirements{Selector: &metav1.LabelSelector{}}
		sources []source
	)
	if zone != nil {
		sources = append(sources, source{"zone", zone.HostSelector})
	}
	if machineType != nil {
		sources = append(sources, source{"machine type", machineType.HostSelector})
		joined.tolerate(machineType.Tolerations)
	}
	if pool != nil {
		sources = append(sources, source{"pool", pool.HostSelector})
		joined.tolerate(pool.Tolerations)
	}
	return joined, joined.narrow(sources)
}

// Selection returns the selection of the hosts that meet the requirements. cleaning says what is wiped when one is released.
func (r Requirements) Selection(cleaning string) (Selection, error) {
	selector, err := metav1.LabelSelectorAsSelector(r.Selector)
	if err != nil {
		return Selection{}, platform.NewError(platform.ClassConfiguration, "hostSelector: %w", err)
	}
	return Selection{Selector: selector, Tolerations: r.Tolerations, Cleaning: cleaning}, nil
}

// narrow adds the selectors of the sources.
func (r *Requirements) narrow(sources []source) error {
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
			if other, ok := r.Selector.MatchLabels[key]; ok && other != value {
				errs = append(errs, platform.NewError(platform.ClassConfiguration,
					"no host can have label %q with %q, which the hostSelector of the %s wants, and with %q, which that of the %s wants",
					key, other, saidBy[key], value, s.name))
				continue
			}
			metav1.AddLabelToSelector(r.Selector, key, value)
			saidBy[key] = s.name
		}
		for _, expression := range s.selector.MatchExpressions {
			r.Selector.MatchExpressions = append(r.Selector.MatchExpressions, *expression.DeepCopy())
		}
	}
	return errors.Join(errs...)
}

// tolerate adds tolerations that are not there yet.
func (r *Requirements) tolerate(tolerations []corev1.Toleration) {
	for _, toleration := range tolerations {
		if !slices.ContainsFunc(r.Tolerations, func(t corev1.Toleration) bool { return equality.Semantic.DeepEqual(t, toleration) }) {
			r.Tolerations = append(r.Tolerations, toleration)
		}
	}
}
