// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// maxReleases is how many machines are released at the same time.
const maxReleases = 8

// Delete implements platform.Infrastructure.
func (i *infrastructure) Delete(ctx context.Context, s *site.Site, persist platform.Persist) (err error) {
	defer platform.NameSite(s.Name, &err)
	unpublish(s)
	f, err := i.forExisting(ctx, s, persist)
	if f == nil {
		return err
	}
	return f.delete(ctx)
}

// delete releases the hosts of remaining machines, and then their addresses. It fails until all hosts are clean.
func (f *flow) delete(ctx context.Context) error {
	left, err := f.left(ctx)
	if err != nil {
		return err
	}
	return f.release(ctx, left)
}

// leftovers are what the shoot still has on the site. It is empty if the machines were deleted before.
type leftovers struct {
	hosts []inventory.Host
	// claims are the machines with an address claim.
	claims []string
}

// machines returns all machines with leftovers and the provider IDs of their hosts.
func (l leftovers) machines() map[string][]string {
	ids := map[string][]string{}
	for _, machine := range l.claims {
		ids[machine] = nil
	}
	for _, host := range l.hosts {
		ids[host.Machine] = append(ids[host.Machine], host.ProviderID)
	}
	return ids
}

// left returns the leftovers. The error wraps ErrNoAccess if the hosts cannot be listed, because that is the first request. Address claims
// that cannot be listed are an error if there may be any, because the address of a claim that is left is not free again.
func (f *flow) left(ctx context.Context) (leftovers, error) {
	hosts, err := f.inventory.Machines(ctx)
	if err != nil {
		return leftovers{}, fmt.Errorf("%w: %w", platform.ErrNoAccess, err)
	}
	claims, err := f.addresses.Machines(ctx)
	if err == nil {
		return leftovers{hosts: hosts, claims: claims}, nil
	}
	mayHaveClaims := f.State().AddressClaims || ipamPool(f.site) != nil
	if class := platform.ClassOf(err); !mayHaveClaims && (class == platform.ClassConfiguration || class == platform.ClassForbidden) {
		return leftovers{hosts: hosts}, nil
	}
	return leftovers{hosts: hosts}, fmt.Errorf("list the address claims that the shoot may have: %w", err)
}

// release releases the leftovers of several machines concurrently.
func (f *flow) release(ctx context.Context, left leftovers) error {
	machines, slots := left.machines(), make(chan struct{}, maxReleases)
	names := slices.Sorted(maps.Keys(machines))
	return errors.Join(platform.Each(len(names), func(i int) error {
		slots <- struct{}{}
		defer func() { <-slots }()
		return f.releaseMachine(ctx, names[i], machines[names[i]], slices.Contains(left.claims, names[i]))
	})...)
}

// releaseMachine releases the hosts of the machine, usually one, and its address when no host uses it.
func (f *flow) releaseMachine(ctx context.Context, machine string, providerIDs []string, hasAddress bool) error {
	var (
		shared bool
		err    error
	)
	if len(providerIDs) == 0 {
		providerIDs = []string{""}
	}
	for _, id := range providerIDs {
		if shared, err = f.inventory.Release(ctx, machine, id, f.cleaning); err != nil {
			break
		}
	}
	if err == nil && hasAddress && !shared {
		err = f.addresses.Release(ctx, machine)
	}
	if err != nil {
		return fmt.Errorf("machine %q: %w", machine, err)
	}
	return nil
}

// Orphans implements platform.Infrastructure.
func (i *infrastructure) Orphans(ctx context.Context, s *site.Site) (_ []v1alpha1.Orphan, err error) {
	defer platform.NameSite(s.Name, &err)
	f, err := i.forExisting(ctx, s, nil)
	if f == nil {
		return nil, err
	}
	return f.orphans(ctx)
}

func (f *flow) orphans(ctx context.Context) ([]v1alpha1.Orphan, error) {
	left, err := f.left(ctx)
	var orphans []v1alpha1.Orphan
	for _, host := range left.hosts {
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: "host", ID: host.ProviderID, Name: host.Name})
	}
	for _, machine := range left.claims {
		orphans = append(orphans, v1alpha1.Orphan{Site: f.site.Name, Kind: "address claim", ID: f.namespace + "/" + machine, Name: machine})
	}
	return orphans, err
}
