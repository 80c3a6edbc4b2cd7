// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// serversTimeout is how long a deletion waits for servers. The next one goes on from there.
const serversTimeout = time.Minute

// ownServers lists the servers of the shoot on the site.
func (f *flow) ownServers(ctx context.Context) ([]servers.Server, error) {
	options := servers.ListOpts{Name: "^" + regexp.QuoteMeta(f.owner.Shoot) + "-"}
	found, err := client.List(ctx, servers.List(f.compute, options), servers.ExtractServers)
	var own []servers.Server
	for i := range found {
		// An administrator is shown servers that do not exist any more.
		gone := found[i].Status == "DELETED" || found[i].Status == "SOFT_DELETED"
		if !gone && f.owner.OwnsServer(found[i].Metadata) {
			own = append(own, found[i])
		}
	}
	return own, err
}

// deleteServers deletes the servers that are left when the machines are gone, and waits until they are gone, too, because they have
// ports. One is left if the answer to its creation was lost and its machine got another one: who collects such servers asks by
// machine class, and the last class can go before it is asked for.
func (f *flow) deleteServers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serversTimeout)
	defer cancel()

	var (
		accepted = map[string]bool{}
		refused  = map[string]error{}
	)
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		left, err := f.ownServers(ctx)
		if err != nil || len(left) == 0 {
			return err
		}
		var (
			going []string
			errs  []error
		)
		for i := range left {
			id, name := left[i].ID, left[i].Name+" ("+left[i].ID+")"
			if !accepted[id] && refused[id] == nil {
				if err := client.IgnoreNotFound(servers.Delete(ctx, f.compute, id).ExtractErr()); err != nil {
					refused[id] = fmt.Errorf("server %s cannot be deleted: %w", name, err)
				} else {
					accepted[id] = true
				}
			}
			if refused[id] != nil {
				errs = append(errs, refused[id])
			} else {
				going = append(going, name)
			}
		}
		if len(going) == 0 {
			return errors.Join(errs...)
		}
		select {
		case <-ctx.Done():
			late := platform.NewError(platform.ClassTransient, "servers are not deleted yet (%d): %s", len(going), strings.Join(going, ", "))
			return errors.Join(append([]error{late}, errs...)...)
		case <-time.After(poll):
		}
	}
}
