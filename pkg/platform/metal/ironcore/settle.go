// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"context"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	// watchedInterval and requestInterval are how often objects are polled, with and without watches.
	watchedInterval = 50 * time.Millisecond
	requestInterval = 250 * time.Millisecond
	// refusalTime is how long metal-operator may take to bind a claim that it has seen to the server that the claim names.
	refusalTime = 5 * time.Second
)

// settled is the outcome of a claim.
type settled struct {
	claim  *metalv1alpha1.ServerClaim
	server *metalv1alpha1.Server
	// bound is true if the machine has the server. Otherwise it never will.
	bound bool
	// refused is true if metal-operator does not bind the server although it looks free.
	refused bool
	// waiting is when metal-operator was first known to have seen the claim without binding it, zero if it was not.
	waiting time.Time
}

// settle waits until the claim has its server, or will certainly not get it. It returns a transient error if neither is the case at the
// deadline, and keeps the claim for the next call.
func (i *Inventory) settle(ctx context.Context, reader client.Reader, claim *metalv1alpha1.ServerClaim, selection *inventory.Selection,
	deadline time.Time) (settled, error) {
	result := settled{claim: claim}
	done, err := kubernetes.Poll(ctx, i.interval(), time.Until(deadline), func() (bool, error) {
		return i.look(ctx, reader, &result, selection)
	})
	if err == nil && !done {
		// Watches may be behind, or may not work.
		if done, err = i.look(ctx, i.Client(), &result, selection); err == nil && !done {
			err = pending(&result)
		}
	}
	return result, kubernetes.Classify(err)
}

// look reports whether the outcome of the claim is clear, as far as the reader knows.
func (i *Inventory) look(ctx context.Context, reader client.Reader, result *settled, selection *inventory.Selection) (bool, error) {
	claim := &metalv1alpha1.ServerClaim{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(result.claim), claim)
	switch {
	case kubernetes.IsNotFound(err) && !kubernetes.IsLive(reader):
		claim = result.claim
	case kubernetes.IsNotFound(err):
		return false, platform.NewError(platform.ClassTransient, "server claim %q was deleted before its server was switched on",
			result.claim.Name)
	case err != nil:
		return false, err
	case claim.UID != result.claim.UID:
		claim = result.claim
	}
	if claim.DeletionTimestamp != nil {
		return false, platform.NewError(platform.ClassTransient, "server claim %q is being deleted", claim.Name)
	}
	server, err := i.server(ctx, reader, serverName(claim))
	if err != nil {
		return false, err
	}
	result.claim, result.server = claim, server
	if result.judge(selection) && !result.bound && !kubernetes.IsLive(reader) {
		return i.look(ctx, i.Client(), result, selection)
	}
	return result.judge(selection), nil
}

// judge sets the outcome of the claim, and reports whether it is clear.
func (s *settled) judge(selection *inventory.Selection) bool {
	s.bound, s.refused = false, false
	bound := s.claim.Status.Phase == metalv1alpha1.PhaseBound
	if s.claim.Status.Phase == metalv1alpha1.PhaseUnbound && s.waiting.IsZero() {
		s.waiting = time.Now()
	}
	switch {
	case isComplete(s.claim):
		s.bound = true
		return true
	case serverName(s.claim) == "":
		return false
	case s.server == nil:
		return true
	case isOf(s.server, s.claim.Namespace, s.claim.Name):
		// A server that is not retained is let go of before it was ever switched on, so that it is as clean as before.
		s.bound = bound && isClean(s.server, selection)
		return bound
	case bound || obstacleTo(s.server, selection) != obstacleNone:
		return true
	default:
		s.refused = !s.waiting.IsZero() && time.Since(s.waiting) > refusalTime
		return s.refused
	}
}

// pending returns the error that the outcome of the claim is not clear yet.
func pending(s *settled) error {
	name, server := s.claim.Name, serverName(s.claim)
	switch {
	case s.claim.Status.Phase == "":
		return platform.NewError(platform.ClassTransient, "metal-operator has not processed server claim %q yet", name)
	case s.server != nil && isOf(s.server, s.claim.Namespace, name):
		return platform.NewError(platform.ClassTransient, "server %q is being reserved for server claim %q", server, name)
	default:
		return platform.NewError(platform.ClassTransient, "metal-operator has not bound server claim %q yet, although server %q is free",
			name, server)
	}
}

func (i *Inventory) interval() time.Duration {
	if i.Watched {
		return watchedInterval
	}
	return requestInterval
}
