// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package manila

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/messages"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

const (
	// protocol is that of all shares.
	protocol = "NFS"
	// description is that of all shares.
	description = "Provisioned by gardener-extension-provider-hybrid."

	statusAvailable     = "available"
	statusDeleting      = "deleting"
	statusErrorDeleting = "error_deleting"

	// Fields of access rules.
	accessTypeIP      = "ip"
	accessReadWrite   = "rw"
	accessStateActive = "active"
	accessStateError  = "error"
)

// pollInterval is how often the state of a share is read.
const pollInterval = time.Second

// operation is what is done at a site for one request. Errors are classified.
type operation struct {
	*Cloud
	cluster owner.Owner
}

// get returns the share with the ID. It is of ClassForbidden if the share was not made for the shoot.
func (o *operation) get(ctx context.Context, id string) (*shares.Share, error) {
	share, err := client.Extracted(shares.Get(ctx, o.service, id).Extract())
	switch {
	case err != nil:
		return nil, err
	case share.ID != id:
		return nil, platform.NewError(platform.ClassTransient, "the response has another share than %q", id)
	case !o.cluster.OwnsShare(share.Metadata):
		return nil, platform.NewError(platform.ClassForbidden, "share %q was not made for this shoot and cannot be used", id)
	}
	return share, nil
}

// find returns the first share that was made for the shoot with the name, nil if there is none.
func (o *operation) find(ctx context.Context, name string) (*shares.Share, error) {
	found, err := client.List(ctx, shares.ListDetail(o.service, shares.ListOpts{Name: name}), shares.ExtractShares)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(s shares.Share) bool { return s.Name != name || !o.cluster.OwnsShare(s.Metadata) })
	if len(found) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(found, func(a, b shares.Share) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return &first, nil
}

// await reads the share until done returns true, and returns its last state.
func (o *operation) await(ctx context.Context, id string, done func(*shares.Share) bool) (*shares.Share, error) {
	var last *shares.Share
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		share, err := o.get(ctx, id)
		if err != nil {
			return false, err
		}
		last = share
		return done(share), nil
	})
	if wait.Interrupted(err) && last != nil {
		return nil, platform.NewError(platform.ClassTransient, "share %q still has the status %q", id, platform.Printable(last.Status))
	}
	return last, client.Classify(err)
}

// isSettled reports whether no operation on the share is in progress.
func isSettled(share *shares.Share) bool {
	return share.Status == statusErrorDeleting || !strings.HasSuffix(share.Status, "ing")
}

// remove deletes the share and waits until it is gone.
func (o *operation) remove(ctx context.Context, id string) error {
	share, err := o.await(ctx, id, func(s *shares.Share) bool { return s.Status == statusDeleting || isSettled(s) })
	if err == nil && share.Status != statusDeleting {
		err = client.Classify(shares.Delete(ctx, o.service, id).ExtractErr())
	}
	if err == nil {
		share, err = o.await(ctx, id, func(s *shares.Share) bool { return s.Status == statusErrorDeleting })
	}
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return o.unusable(ctx, share)
}

// unusable returns an error of ClassExhausted for a share with a status that it must not have. It has the reason that Manila gives.
func (o *operation) unusable(ctx context.Context, share *shares.Share) error {
	reason := "no reason is given"
	found, err := client.List(ctx, messages.List(o.service, messages.ListOpts{ResourceID: share.ID}), messages.ExtractMessages)
	if err == nil && len(found) > 0 {
		latest := slices.MaxFunc(found, func(a, b messages.Message) int { return a.CreatedAt.Compare(b.CreatedAt) })
		reason = platform.Printable(latest.UserMessage)
	}
	return platform.NewError(platform.ClassExhausted, "share %q has the status %q: %s", share.ID, platform.Printable(share.Status), reason)
}

// grant lets the nodes of the site mount the share, and waits until they can.
func (o *operation) grant(ctx context.Context, id string) error {
	rules, err := o.rules(ctx, id)
	if err != nil {
		return err
	}
	for i, wanted := range o.clients {
		rule := rules[i]
		if rule != nil && rule.State == accessStateError {
			// A rule in this state stays as it is.
			revoke := shares.RevokeAccessOpts{AccessID: rule.ID}
			if err := client.IgnoreNotFound(shares.RevokeAccess(ctx, o.service, id, revoke).ExtractErr()); err != nil {
				return err
			}
			return platform.NewError(platform.ClassTransient, "the access rule of share %q for %s failed and is made again", id, wanted)
		}
		if rule != nil {
			continue
		}
		opts := shares.GrantAccessOpts{AccessType: accessTypeIP, AccessTo: wanted, AccessLevel: accessReadWrite}
		if _, err := client.Extracted(shares.GrantAccess(ctx, o.service, id, opts).Extract()); err != nil {
			return err
		}
	}
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		rules, err := o.rules(ctx, id)
		pending := slices.ContainsFunc(rules, func(r *shares.AccessRight) bool { return r == nil || r.State != accessStateActive })
		return err == nil && !pending, err
	})
	if wait.Interrupted(err) {
		return platform.NewError(platform.ClassTransient, "the access rules of share %q are not active yet", id)
	}
	return client.Classify(err)
}

// rules returns the access rules of the share for the clients, in their order, with nil for those that are missing.
func (o *operation) rules(ctx context.Context, id string) ([]*shares.AccessRight, error) {
	found, err := shares.ListAccessRights(ctx, o.service, id).Extract()
	if err != nil {
		return nil, client.Classify(err)
	}
	rules := make([]*shares.AccessRight, len(o.clients))
	for i, wanted := range o.clients {
		at := slices.IndexFunc(found, func(r shares.AccessRight) bool {
			return r.AccessType == accessTypeIP && r.AccessLevel == accessReadWrite && rangeOf(r.AccessTo) == rangeOf(wanted)
		})
		if at >= 0 {
			rules[i] = &found[at]
		}
	}
	return rules, nil
}

// rangeOf returns the range of an access rule, which may be an address. It is invalid if the text is neither.
func rangeOf(text string) netip.Prefix {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(address, address.BitLen())
}

// export returns where nodes mount the share from.
func (o *operation) export(ctx context.Context, id string) (export, error) {
	locations, err := shares.ListExportLocations(ctx, o.service, id).Extract()
	if err != nil {
		return export{}, client.Classify(err)
	}
	return exportOf(locations)
}

// extend makes the share as large as the size in GiB, if it is smaller, and returns its size.
func (o *operation) extend(ctx context.Context, id string, size int) (int, error) {
	share, err := o.await(ctx, id, isSettled)
	if err == nil && share.Size < size {
		if err = client.Classify(shares.Extend(ctx, o.service, id, shares.ExtendOpts{NewSize: size}).ExtractErr()); err == nil {
			share, err = o.await(ctx, id, isSettled)
		}
	}
	if err != nil {
		return 0, err
	}
	if share.Size < size || share.Status != statusAvailable {
		return 0, o.unusable(ctx, share)
	}
	return share.Size, nil
}
