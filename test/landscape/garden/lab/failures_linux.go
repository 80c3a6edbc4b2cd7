// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
)

// Failure is an attempt of gardenlet to create or change a shoot that failed.
type Failure struct {
	// Time is when it failed.
	Time time.Time
	// Message says why.
	Message string
}

// Failures are the attempts of gardenlet that failed, as its events tell, in the order of their times.
func (s *Shoot) Failures(ctx context.Context) ([]Failure, error) {
	list := &eventsv1.EventList{}
	if err := s.lab.Client.List(ctx, list, client.InNamespace(garden.Namespace)); err != nil {
		return nil, err
	}
	var result []Failure
	for _, event := range list.Items {
		if event.Reason == gardencorev1beta1.EventReconcileError && event.Regarding.Name == s.name {
			result = append(result, Failure{Time: event.EventTime.Time, Message: event.Note})
		}
	}
	slices.SortFunc(result, func(a, b Failure) int { return a.Time.Compare(b.Time) })
	return result, nil
}
