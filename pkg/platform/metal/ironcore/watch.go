// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"context"
	"slices"
	"strings"
	"sync"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// watching is a watch of the shoot's claims and of their servers. Each server is watched by its name, so that the other servers of the
// inventory cost nothing.
type watching struct {
	inventory *Inventory
	changed   func([]inventory.Host)
	group     *errgroup.Group

	mutex  sync.Mutex
	claims map[string]client.Object
	// servers are those that are known; nil if the inventory has none of the name.
	servers map[string]*metalv1alpha1.Server
	stops   map[string]context.CancelFunc
}

// Watch implements inventory.Inventory.
func (i *Inventory) Watch(ctx context.Context, changed func([]inventory.Host)) error {
	group, ctx := errgroup.WithContext(ctx)
	w := &watching{inventory: i, changed: changed, group: group, servers: map[string]*metalv1alpha1.Server{}, stops: map[string]context.CancelFunc{}}
	group.Go(func() (err error) {
		defer platform.Recover(&err)
		return i.session.Follow(ctx, &metalv1alpha1.ServerClaimList{}, func(claims map[string]client.Object) { w.setClaims(ctx, claims) },
			client.InNamespace(i.session.Namespace), client.MatchingLabels(i.owner.Labels()))
	})
	return group.Wait()
}

// setClaims watches the servers of the claims, and those alone.
func (w *watching) setClaims(ctx context.Context, claims map[string]client.Object) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.claims = claims

	needed := map[string]bool{}
	for _, claim := range claims {
		if name := serverName(claim.(*metalv1alpha1.ServerClaim)); name != "" {
			needed[name] = true
		}
	}
	for name, stop := range w.stops {
		if !needed[name] {
			stop()
			delete(w.stops, name)
			delete(w.servers, name)
		}
	}
	for name := range needed {
		if w.stops[name] == nil {
			w.follow(ctx, name)
		}
	}
	w.tell()
}

// follow watches a server.
func (w *watching) follow(ctx context.Context, name string) {
	ctx, stop := context.WithCancel(ctx)
	w.stops[name] = stop
	w.group.Go(func() (err error) {
		defer stop()
		defer platform.Recover(&err)
		return w.inventory.session.Follow(ctx, &metalv1alpha1.ServerList{}, func(servers map[string]client.Object) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			if ctx.Err() != nil {
				return
			}
			server, _ := servers[name].(*metalv1alpha1.Server)
			w.servers[name] = server
			w.tell()
		}, client.MatchingFields{"metadata.name": name})
	})
}

// tell tells of all hosts, ordered by machine, as soon as all their servers are known.
func (w *watching) tell() {
	hosts := make([]inventory.Host, 0, len(w.claims))
	for _, object := range w.claims {
		claim := object.(*metalv1alpha1.ServerClaim)
		server, known := w.servers[serverName(claim)]
		if !known && serverName(claim) != "" {
			return
		}
		hosts = append(hosts, hostOf(claim, server))
	}
	slices.SortFunc(hosts, func(a, b inventory.Host) int { return strings.Compare(a.Machine, b.Machine) })
	w.changed(hosts)
}
