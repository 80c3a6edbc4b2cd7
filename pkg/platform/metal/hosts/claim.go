// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	// maxLost is how many hosts may be lost to others before a watch is considered stale.
	maxLost = 3
	// maxPatches is how often a patch is retried because of a conflict.
	maxPatches = 5
)

// Claim implements inventory.Inventory. A single patch claims a host and says what it is to be, so that no claimed host is left without it.
// The Secret with the machine's data is written before.
func (i *Inventory[T, H]) Claim(ctx context.Context, request inventory.Claim) (*inventory.Host, error) {
	host, err := i.find(ctx, request.Machine, "")
	switch {
	case err != nil:
		return nil, err
	case host == nil:
		host, err = i.claimFree(ctx, &request)
	case i.Kind.machine(host, request.Machine).Complete:
		err = i.restoreSecret(ctx, host, &request)
	default:
		host, err = i.write(ctx, host, &request, i.isMachine(request.Machine))
		if host == nil && err == nil {
			err = platform.NewError(platform.ClassTransient, "machine %q lost its host to someone else", request.Machine)
		}
	}
	if err != nil {
		return nil, err
	}
	return new(i.Kind.machine(host, request.Machine)), nil
}

// claimFree claims one of the free hosts. It lists all hosts without a watch before it returns that none is free.
func (i *Inventory[T, H]) claimFree(ctx context.Context, request *inventory.Claim) (H, error) {
	readers := []client.Reader{i.reader(ctx)}
	if !kubernetes.IsLive(readers[0]) {
		readers = append(readers, i.Client())
	}
	var (
		none error
		lost int
	)
	for _, reader := range readers {
		hosts, err := i.hosts(ctx, reader)
		if err != nil {
			return nil, err
		}
		free, found := i.Kind.Candidates(hosts, &request.Selection)
		none = found.Exhausted("hosts", i.Kind.Obstacles)
		for _, candidate := range free {
			if !kubernetes.IsLive(reader) && lost >= maxLost {
				break
			}
			if !i.Reservations.Reserve(candidate.GetName(), kubernetes.IsLive(reader)) {
				continue
			}
			host, tried, err := i.try(ctx, reader, candidate, request)
			i.Reservations.Release(candidate.GetName(), host != nil)
			if host != nil || err != nil {
				return host, err
			}
			if tried {
				lost++
			}
		}
	}
	if lost > 0 {
		if err := bootdata.DeleteSecret(ctx, i.Client(), i.Session.Namespace, i.Owner, request.Machine); err != nil {
			return nil, err
		}
	}
	return nil, none
}

// try claims the host, and returns nil if others were faster. It does not try if a watch has already seen that.
func (i *Inventory[T, H]) try(ctx context.Context, reader client.Reader, host H,
	request *inventory.Claim) (claimed H, tried bool, err error) {
	if !kubernetes.IsLive(reader) {
		if host, err = i.read(ctx, reader, host.GetName()); host == nil || err != nil || !i.isFree(request)(host) {
			return nil, false, err
		}
	}
	claimed, err = i.write(ctx, copyOf(host), request, i.isFree(request))
	return claimed, true, err
}

// isFree reports whether a host can be claimed with the request.
func (i *Inventory[T, H]) isFree(request *inventory.Claim) func(H) bool {
	return func(host H) bool { return i.Kind.ObstacleTo(host, &request.Selection) == "" }
}

// isMachine reports whether a host is the machine.
func (i *Inventory[T, H]) isMachine(machine string) func(H) bool {
	return func(host H) bool { return i.Kind.IsOf(host, i.Owner, machine) }
}

// write makes the host the machine, and returns the updated host. It returns nil if the host is no longer usable.
func (i *Inventory[T, H]) write(ctx context.Context, host H, request *inventory.Claim,
	usable func(H) bool) (H, error) {
	data, err := request.Data(ctx, new(i.Kind.machine(host, request.Machine)))
	if err != nil {
		return nil, err
	}
	if err := i.writeSecret(ctx, host, request.Machine, data); err != nil {
		return nil, err
	}
	return i.change(ctx, host, usable, func(host H) any {
		return i.Kind.ClaimPatch(host, i.Owner, request, data)
	})
}

// change patches the host, retries after a conflict if it is still usable, and returns the updated host. It returns nil if it is no longer
// usable. Nothing is sent if there is no patch.
func (i *Inventory[T, H]) change(ctx context.Context, host H, usable func(H) bool, patchOf func(H) any) (H, error) {
	name := host.GetName()
	for range maxPatches {
		patch := patchOf(host)
		if patch == nil {
			return host, nil
		}
		err := i.patch(ctx, host, patch)
		if err == nil {
			return host, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, kubernetes.IgnoreNotFound(err)
		}
		if host, err = i.read(ctx, i.Client(), name); host == nil || err != nil || !usable(host) {
			return nil, err
		}
	}
	return nil, platform.NewError(platform.ClassTransient, "host %q is changed by others continuously", name)
}

// patch sends a patch of the host, which is updated with the answer.
func (i *Inventory[T, H]) patch(ctx context.Context, host H, patch any) error {
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return i.Client().Patch(ctx, host, client.RawPatch(types.MergePatchType, raw))
}

// writeSecret writes the Secret with the data of the machine.
func (i *Inventory[T, H]) writeSecret(ctx context.Context, host H, machine string, data inventory.Data) error {
	secret, err := i.Kind.SecretOf(host, machine, data)
	if err != nil {
		return err
	}
	return bootdata.WriteSecret(ctx, i.Client(), i.Owner, machine, secret)
}

// restoreSecret rewrites the Secret if it was deleted before the machine's system was started, because the inventory needs it until then.
func (i *Inventory[T, H]) restoreSecret(ctx context.Context, host H, request *inventory.Claim) error {
	found := i.Kind.machine(host, request.Machine)
	if found.Running {
		return nil
	}
	exists, err := bootdata.SecretExists(ctx, i.Client(), i.Session.Namespace, i.Owner, request.Machine)
	if exists || err != nil {
		return err
	}
	data, err := request.Data(ctx, &found)
	if err != nil {
		return err
	}
	return i.writeSecret(ctx, host, request.Machine, data)
}

// Candidates returns the free hosts that the selection selects, in random order.
func (k *Kind[T, H]) Candidates(hosts []T, selection *inventory.Selection) ([]H, inventory.Counts) {
	var (
		free   []H
		result = inventory.Counts{Total: len(hosts), Obstacles: map[inventory.Obstacle]int{}}
	)
	for index := range hosts {
		host := H(&hosts[index])
		if !selection.Matches(host.GetLabels()) {
			continue
		}
		result.Matching++
		if found := k.ObstacleTo(host, selection); found != "" {
			result.Obstacles[found]++
			continue
		}
		free = append(free, host)
	}
	result.Free = len(free)
	rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	return free, result
}
