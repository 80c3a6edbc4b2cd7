// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	// smallHosts are a site's hosts for pools of small machines: one more than the pool on all sites ever has there.
	smallHosts = 3
	// largeHosts are the hosts for the pool burst.
	largeHosts = 3
)

// metalSite is a site of bare metal: the hosts of Metal3 or the servers of IronCore.
type metalSite struct {
	called    string
	kind      v1alpha1.MetalInventory
	inventory *inventory
	watch     *metal.Watch
}

func (s *metalSite) name() string { return s.called }

func (s *metalSite) platform() string {
	return fmt.Sprintf("bare metal (%s, simulated hardware)", s.kind)
}

func (s *metalSite) start(ctx context.Context) error {
	if err := s.inventory.start(ctx); err != nil {
		return err
	}
	s.watch = metal.NewWatch(s.inventory.Inventory, namespace)
	if s.kind == v1alpha1.MetalInventoryIronCore {
		_, err := s.inventory.MakeServers(ctx,
			metal.Batch{Prefix: "hall-1-s", Count: smallHosts, Labels: map[string]string{"hall": "h1", "size": "s"}})
		return err
	}
	if err := s.inventory.MakePool(ctx,
		metal.Pool{Name: s.called, Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"}); err != nil {
		return err
	}
	for size, count := range map[string]int{"s": smallHosts, "l": largeHosts} {
		batch := metal.Batch{Prefix: "rack-1-" + size, Count: count, Labels: map[string]string{"rack": "r1", "size": size}}
		if _, err := s.inventory.MakeHosts(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (s *metalSite) stop(context.Context) error {
	return s.inventory.stop()
}

func (s *metalSite) locate(profile *v1alpha1.CloudProfileSite) {
	profile.Metal.Server, profile.TLS = s.inventory.Server(), &v1alpha1.TLS{CACert: s.inventory.CA()}
}

func (s *metalSite) credentials() map[string]string {
	return s.inventory.credentials.SiteCredentials()
}

// servers are the hosts that are claimed. What runs on them tells its addresses.
func (s *metalSite) servers(ctx context.Context) (map[string]server, error) {
	hosts, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	machines, err := s.watch.Machines(ctx)
	if err != nil {
		return nil, err
	}
	servers := map[string]server{}
	for _, host := range hosts {
		id := path.Base(host.Consumer)
		if !strings.HasPrefix(id, namespace) {
			continue
		}
		running, active := machines[id]
		servers[id] = server{name: host.Name, status: host.Name + " " + strings.ToLower(host.State), image: host.Image, active: active,
			addresses: running.Addresses}
	}
	return servers, nil
}

// hosts are all hosts of the site, with the image that they have or shall have.
func (s *metalSite) hosts(ctx context.Context) (map[string]metal.Host, error) {
	if s.kind == v1alpha1.MetalInventoryMetal3 {
		return s.inventory.Hosts(ctx)
	}
	hosts, err := s.inventory.Servers(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := s.inventory.Claims(ctx)
	for name, host := range hosts {
		if claim, ok := claims[path.Base(host.Consumer)]; ok {
			host.Image = imageOf(claim)
			hosts[name] = host
		}
	}
	return hosts, err
}

func (s *metalSite) active(ctx context.Context) (map[string]kubelets.Server, error) {
	return s.watch.Active(ctx)
}

// objects are those of the inventory that belong to the site.
func (s *metalSite) objects(ctx context.Context) ([]object, error) {
	found, err := s.inventory.Objects(ctx, namespace)
	claims := map[string]bool{}
	for _, o := range found {
		claims[o.Name] = claims[o.Name] || o.Kind == "ServerClaim"
	}
	var objects []object
	for _, o := range found {
		ofIronCore := claims[o.Name] || !s.inventory.metal3
		if ofIronCore == (s.kind == v1alpha1.MetalInventoryIronCore) {
			objects = append(objects, object{kind: o.Kind, text: o.String()})
		}
	}
	return objects, err
}

func (s *metalSite) kinds() string {
	if s.kind == v1alpha1.MetalInventoryIronCore {
		return "server claim, Secret or address claim"
	}
	return "claimed host, Secret or address claim"
}

func (s *metalSite) hint() string {
	return fmt.Sprintf("kubectl --kubeconfig=%s -n %s get baremetalhosts,serverclaims,ipaddressclaims", s.inventory.Cluster.Kubeconfig,
		metal.Namespace)
}
