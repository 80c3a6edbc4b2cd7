// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
)

const (
	// releaseTimeout is how long to wait for a host, so that a fast inventory needs only one call.
	releaseTimeout = 2 * time.Second
	// watchedInterval and requestInterval are how often a host is polled, with and without a watch.
	watchedInterval = 50 * time.Millisecond
	requestInterval = 500 * time.Millisecond
)

// Release implements inventory.Inventory. The host keeps its consumer until it is clean, so that nothing else claims it before.
func (i *Inventory[T, H]) Release(ctx context.Context, machine, providerID, cleaning string) (bool, error) {
	host, err := i.find(ctx, machine, providerID)
	if err != nil {
		return false, err
	}
	if host != nil {
		if err := i.releaseHost(ctx, host.GetName(), machine, cleaning); err != nil {
			return false, err
		}
	}
	if shared, err := i.isShared(ctx, machine, providerID); shared || err != nil {
		return shared, err
	}
	return false, bootdata.DeleteSecret(ctx, i.Client(), i.Session.Namespace, i.Owner, machine)
}

// releaseHost frees the host of the name when it is clean.
func (i *Inventory[T, H]) releaseHost(ctx context.Context, name, machine, cleaning string) error {
	usable := i.isMachine(machine)
	host, err := i.read(ctx, i.Client(), name)
	if host == nil || err != nil || !usable(host) {
		return err
	}
	if err := i.Kind.Held(host); err != nil {
		return err
	}
	host, err = i.change(ctx, host, usable, func(host H) any { return i.Kind.CleanPatch(host, machine, cleaning) })
	if host == nil || err != nil {
		return err
	}
	host, err = i.waitUntilClean(ctx, host, machine)
	if host == nil || err != nil {
		return err
	}
	freed, err := i.change(ctx, host, func(host H) bool { return usable(host) && i.Kind.IsReleasable(host) },
		func(host H) any { return i.Kind.FreePatch(host, i.Owner, machine) })
	if freed != nil || err != nil {
		return err
	}
	host, err = i.lateHost(ctx, name, machine)
	if host != nil {
		return platform.NewError(platform.ClassTransient, "host %q changed while it was released", name)
	}
	return err
}

// waitUntilClean returns the host when nothing of the machine is left on it, nil if it is gone. If that takes long it returns a transient
// error that reports the progress.
func (i *Inventory[T, H]) waitUntilClean(ctx context.Context, host H, machine string) (H, error) {
	reader := i.reader(ctx)
	interval := requestInterval
	if !kubernetes.IsLive(reader) {
		interval = watchedInterval
	}
	name := host.GetName()
	// A request may end later than the polls, because a limiter of requests fails at once if it cannot wait until a deadline.
	err := wait.PollUntilContextTimeout(ctx, interval, releaseTimeout, true, func(context.Context) (bool, error) {
		if i.Kind.IsReleasable(host) {
			return true, nil
		}
		current, err := i.read(ctx, reader, name)
		if current == nil || err != nil {
			return false, err
		}
		if i.Kind.IsOf(current, i.Owner, machine) {
			host = current
		}
		return i.Kind.IsReleasable(host), nil
	})
	switch {
	case err == nil:
		return host, nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return i.lateHost(ctx, name, machine)
	default:
		return nil, kubernetes.Classify(err)
	}
}

// lateHost returns the host if nothing of the machine is left on it, and nil if the machine no longer has it. Otherwise it returns a
// transient error that reports the progress.
func (i *Inventory[T, H]) lateHost(ctx context.Context, name, machine string) (H, error) {
	host, err := i.read(ctx, i.Client(), name)
	switch {
	case host == nil || err != nil || !i.Kind.IsOf(host, i.Owner, machine):
		return nil, err
	case i.Kind.IsReleasable(host):
		return host, nil
	default:
		return nil, i.Kind.Unreleased(host)
	}
}
