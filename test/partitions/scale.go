// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	"context"
	"errors"
	"fmt"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
)

// poll is the time between two looks at what is awaited.
const poll = 250 * time.Millisecond

// Cut cuts sites off, their nodes and their APIs.
func (s *Shoot) Cut(sites ...string) error {
	var errs []error
	for _, site := range sites {
		s.CutSite(site)
		errs = append(errs, s.TakeDown(site))
	}
	return errors.Join(errs...)
}

// TakeDown lets the API of a site not answer any more, while the kubelets of its nodes report.
func (s *Shoot) TakeDown(site string) error {
	var errs []error
	for _, service := range servicesOf(site) {
		errs = append(errs, s.Proxy.TakeDown(service))
	}
	return errors.Join(errs...)
}

// AwaitQuarantine waits until a site is in quarantine.
func (s *Shoot) AwaitQuarantine(ctx context.Context, site string, within time.Duration) error {
	return wait.PollUntilContextTimeout(ctx, poll, within, true, func(ctx context.Context) (bool, error) {
		infrastructure, err := s.infrastructure(ctx)
		if err != nil {
			return false, err
		}
		_, ok := condition.Quarantines(infrastructure.Status.Conditions)[site]
		return ok, nil
	})
}

// ScaleTo changes the size of the pool on a site, waits until exactly so many machines are running, and returns how long that took.
func (s *Shoot) ScaleTo(ctx context.Context, site string, size int, within time.Duration) (time.Duration, error) {
	start := time.Now()
	machines, err := s.Pool(site).Machines(ctx, "")
	if err != nil {
		return 0, err
	}
	if _, err := s.Pool(site).Scale(ctx, zones[site], int32(size-len(machines))); err != nil { // #nosec G115 -- a few
		return 0, err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, poll, within, true, func(ctx context.Context) (bool, error) {
		last = s.Pool(site).Running(ctx, "", size)
		return last == nil, nil
	})
	return time.Since(start), errors.Join(err, last)
}

// AwaitExhausted adds a machine to the pool on a site, waits until it says that the site has no room, and returns how long that took: the
// cluster-autoscaler then asks the next site.
func (s *Shoot) AwaitExhausted(ctx context.Context, site string, within time.Duration) (time.Duration, error) {
	start := time.Now()
	if _, err := s.Pool(site).Scale(ctx, zones[site], 1); err != nil {
		return 0, err
	}
	var last string
	err := wait.PollUntilContextTimeout(ctx, poll, within, true, func(ctx context.Context) (bool, error) {
		machines, err := s.Pool(site).Machines(ctx, "")
		for i := range machines {
			operation := machines[i].Status.LastOperation
			if operation.Type == machinev1alpha1.MachineOperationCreate && operation.State == machinev1alpha1.MachineStateFailed {
				if last = operation.Description; operation.ErrorCode == "ResourceExhausted" {
					return true, nil
				}
			}
		}
		return false, err
	})
	if err != nil {
		return 0, fmt.Errorf("wait until site %s says that it has no room: %w (%s)", site, err, last)
	}
	return time.Since(start), nil
}
