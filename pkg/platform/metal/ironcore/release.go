// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"context"
	"slices"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
)

// releaseTimeout is how long to wait until a server is released. One that shuts down in time needs only one call.
const releaseTimeout = 2 * time.Second

// Release implements inventory.Inventory. It ignores the cleaning: IronCore wipes nothing, and a retained server is available again only
// after it was cleaned manually.
func (i *Inventory) Release(ctx context.Context, machine, providerID, _ string) (bool, error) {
	name := i.nameOf(machine, providerID)
	claim, err := i.claim(ctx, i.Client(), name, machine)
	if err != nil {
		return false, err
	}
	server, err := i.serverOf(ctx, claim, name)
	if err != nil {
		return false, err
	}
	if claim != nil {
		if server != nil && isOf(server, claim.Namespace, claim.Name) && inMaintenance(server) {
			return false, platform.NewError(platform.ClassTransient, "server %q is in maintenance, and is released after that", server.Name)
		}
		if err := i.delete(ctx, claim); err != nil {
			return false, err
		}
	}
	shared, err := i.isShared(ctx, machine, name)
	if err != nil {
		return false, err
	}
	if !shared {
		if err := bootdata.DeleteSecret(ctx, i.Client(), i.Session.Namespace, i.Owner, machine); err != nil {
			return false, err
		}
	}
	if claim == nil && server == nil {
		return shared, nil
	}
	return shared, i.waitUntilFree(ctx, name, machine, server, time.Now().Add(releaseTimeout), isReleased)
}

// isShared reports whether the machine has another claim than that of the name.
func (i *Inventory) isShared(ctx context.Context, machine, name string) (bool, error) {
	list := &metalv1alpha1.ServerClaimList{}
	err := i.Client().List(ctx, list, client.InNamespace(i.Session.Namespace), client.MatchingLabels(i.Owner.MachineLabels(machine)))
	return slices.ContainsFunc(list.Items, func(claim metalv1alpha1.ServerClaim) bool { return claim.Name != name }), kubernetes.Classify(err)
}

// abandon deletes a claim whose server was never switched on for the machine, and waits until the machine can have another.
func (i *Inventory) abandon(ctx context.Context, of *settled, deadline time.Time) error {
	if err := i.delete(ctx, of.claim); err != nil {
		return err
	}
	return i.waitUntilFree(ctx, of.claim.Name, of.claim.Name, of.server, deadline, isNotHeld)
}

// isNotHeld reports whether the server is not held for the claim.
func isNotHeld(server *metalv1alpha1.Server, namespace, claim string) bool {
	return !isOf(server, namespace, claim)
}

// isReleased reports whether nothing of the machine runs on the server any longer. A retained server keeps its reference to the deleted
// claim until it was cleaned.
func isReleased(server *metalv1alpha1.Server, namespace, claim string) bool {
	return isNotHeld(server, namespace, claim) || server.Status.State == metalv1alpha1.ServerStateReleased
}

func (i *Inventory) delete(ctx context.Context, claim *metalv1alpha1.ServerClaim) error {
	if claim.DeletionTimestamp != nil {
		return nil
	}
	return kubernetes.IgnoreNotFound(i.Client().Delete(ctx, claim, client.Preconditions{UID: &claim.UID}))
}

// serverOf returns the server that is held for the claim of the name, or that the claim names; nil if there is none. The claim may be nil.
func (i *Inventory) serverOf(ctx context.Context, claim *metalv1alpha1.ServerClaim, name string) (*metalv1alpha1.Server, error) {
	if claim != nil {
		return i.server(ctx, i.Client(), serverName(claim))
	}
	servers, err := i.servers(ctx, i.reader(ctx))
	if err != nil {
		return nil, err
	}
	index := slices.IndexFunc(servers, func(server metalv1alpha1.Server) bool { return isOf(&server, i.Session.Namespace, name) })
	if index < 0 {
		return nil, nil
	}
	return i.server(ctx, i.Client(), servers[index].Name)
}

// waitUntilFree waits until the claim of the name is gone and the server, which may be nil, is free of it. It is a transient error
// that this is not so at the deadline.
func (i *Inventory) waitUntilFree(ctx context.Context, name, machine string, server *metalv1alpha1.Server, deadline time.Time,
	isFree func(server *metalv1alpha1.Server, namespace, claim string) bool) error {
	var late error
	done, err := kubernetes.Poll(ctx, requestInterval, time.Until(deadline), func() (bool, error) {
		if claim, err := i.claim(ctx, i.Client(), name, machine); claim != nil || err != nil {
			late = platform.NewProgress("server claim %q is being deleted", name)
			return false, err
		}
		if server == nil {
			return true, nil
		}
		current, err := i.server(ctx, i.Client(), server.Name)
		if current == nil || err != nil {
			return err == nil, err
		}
		late = releasing(current)
		return isFree(current, i.Session.Namespace, name), nil
	})
	if err == nil && !done {
		err = late
	}
	return err
}

// releasing returns the error that the server is not free yet.
func releasing(server *metalv1alpha1.Server) error {
	if server.Status.State == metalv1alpha1.ServerStateReleased {
		return platform.NewProgress("server %q was retained, and waits for its cleaning", server.Name)
	}
	if server.Status.PowerState != metalv1alpha1.ServerOffPowerState {
		return platform.NewProgress("server %q is being released: it is switched off", server.Name)
	}
	return platform.NewProgress("server %q is being released", server.Name)
}
