// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ironcore

import (
	"cmp"
	"context"
	"strings"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// fewClaims is how many claims have servers that are read one by one.
const fewClaims = 100

// cacheKey is the key of the watches for an owner.
type cacheKey struct{ owner owner.Owner }

// Hosts implements inventory.Inventory.
func (i *Inventory) Hosts(ctx context.Context, selections ...inventory.Selection) ([][]inventory.Host, error) {
	reader := i.reader(ctx)
	claims, err := i.claims(ctx, reader)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*metalv1alpha1.ServerClaim, len(claims))
	for index := range claims {
		byName[claims[index].Name] = &claims[index]
	}
	servers, err := i.servers(ctx, reader)
	if err != nil {
		return nil, err
	}
	result := make([][]inventory.Host, len(selections))
	for s := range selections {
		for index := range servers {
			server := &servers[index]
			if !selections[s].Matches(server.Labels) {
				continue
			}
			host := freeHostOf(server, &selections[s])
			if ref := server.Spec.ServerClaimRef; ref != nil && ref.Namespace == i.Session.Namespace && byName[ref.Name] != nil {
				host = hostOf(byName[ref.Name], server)
			}
			result[s] = append(result[s], host)
		}
	}
	return result, nil
}

// Find implements inventory.Inventory.
func (i *Inventory) Find(ctx context.Context, machine, providerID string) (*inventory.Host, error) {
	reader, name := i.reader(ctx), i.nameOf(machine, providerID)
	claim, err := i.claim(ctx, reader, name, cmp.Or(machine, name))
	if claim == nil || err != nil {
		return nil, err
	}
	server, err := i.server(ctx, reader, serverName(claim))
	if err != nil {
		return nil, err
	}
	return new(hostOf(claim, server)), nil
}

// FindByNodeName implements inventory.Inventory. Nodes are named after their machines, which their claims are named after, or after their
// servers.
func (i *Inventory) FindByNodeName(ctx context.Context, name string) ([]inventory.Host, error) {
	server, err := i.server(ctx, i.Client(), name)
	if err != nil {
		return nil, err
	}
	names := []string{name}
	if server != nil && server.Spec.ServerClaimRef != nil && server.Spec.ServerClaimRef.Namespace == i.Session.Namespace {
		names = append(names, server.Spec.ServerClaimRef.Name)
	}
	var hosts []inventory.Host
	for _, name := range names {
		claim, err := i.read(ctx, i.Client(), name)
		if err != nil {
			return nil, err
		}
		if claim == nil || !i.Owner.OwnsMachine(claim.Labels, name) {
			continue
		}
		server, err := i.server(ctx, i.Client(), serverName(claim))
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, hostOf(claim, server))
	}
	return hosts, nil
}

// Check implements inventory.Inventory.
func (i *Inventory) Check(ctx context.Context) error {
	if _, err := i.selectClaims(ctx, i.Client(), client.MatchingLabels(i.Owner.Labels()), client.Limit(1)); err != nil {
		return err
	}
	return kubernetes.Classify(i.Client().List(ctx, &metalv1alpha1.ServerList{}, client.Limit(1)))
}

// Machines implements inventory.Inventory.
func (i *Inventory) Machines(ctx context.Context) ([]inventory.Host, error) {
	reader := i.reader(ctx)
	claims, err := i.claims(ctx, reader)
	if err != nil {
		return nil, err
	}
	servers, err := i.serversOf(ctx, reader, claims)
	if err != nil {
		return nil, err
	}
	return lists.Map(claims, func(claim metalv1alpha1.ServerClaim) inventory.Host {
		return hostOf(&claim, servers[serverName(&claim)])
	}), nil
}

// Faults implements inventory.Inventory.
func (i *Inventory) Faults(ctx context.Context, shoots []string) ([]platform.Fault, error) {
	ofShoots, err := owner.OnSite(i.Owner.Site, shoots)
	if err != nil {
		return nil, err
	}
	reader := i.Client()
	claims, err := i.selectClaims(ctx, reader, ofShoots, kubernetes.Stripped(strip))
	if err != nil {
		return nil, err
	}
	servers, err := i.serversOf(ctx, reader, claims)
	if err != nil {
		return nil, err
	}
	var faults []platform.Fault
	for index := range claims {
		claim := &claims[index]
		machine, name := claim.Labels[owner.LabelMachine], serverName(claim)
		if message := fault(claim, servers[name]); machine != "" && message != "" {
			faults = append(faults, platform.Fault{Shoot: owner.Of(claim.Labels).Shoot, Machine: machine, Host: name, Message: message})
		}
	}
	return faults, nil
}

// reader returns a reader of claims of the owner and of servers: watches that have synced, or else a client.
func (i *Inventory) reader(ctx context.Context) client.Reader {
	ofOwner := cache.Config{LabelSelector: labels.SelectorFromSet(i.Owner.Labels())}
	return i.Reader(ctx, cacheKey{i.Owner}, cache.Options{
		DefaultTransform: strip,
		ByObject: map[client.Object]cache.ByObject{
			&metalv1alpha1.ServerClaim{}: {Namespaces: map[string]cache.Config{i.Session.Namespace: ofOwner}},
			&metalv1alpha1.Server{}:      {},
		},
	}, &metalv1alpha1.ServerClaim{}, &metalv1alpha1.Server{})
}

// nameOf returns the name of the machine's claim. It equals that of the machine, unless the claim was copied: the provider ID tells which
// one is meant.
func (i *Inventory) nameOf(machine, providerID string) string {
	if name, ok := strings.CutPrefix(providerID, providerIDPrefix+i.Session.Namespace+"/"); ok {
		return name
	}
	return machine
}

// claim returns the claim of the name, nil if the inventory has none. Watches may not know it yet, so that only a request proves that.
// A claim of that name that is not the machine's is a conflict.
func (i *Inventory) claim(ctx context.Context, reader client.Reader, name, machine string) (*metalv1alpha1.ServerClaim, error) {
	claim, err := i.read(ctx, reader, name)
	if claim == nil && err == nil && !kubernetes.IsLive(reader) {
		claim, err = i.read(ctx, i.Client(), name)
	}
	if claim == nil || err != nil {
		return nil, err
	}
	if !i.Owner.OwnsMachine(claim.Labels, machine) {
		return nil, platform.NewError(platform.ClassConflict, "ServerClaim %s/%s exists, but is not that of machine %q", i.Session.Namespace,
			name, machine)
	}
	return claim, nil
}

// read returns the claim of the name, nil if it does not exist.
func (i *Inventory) read(ctx context.Context, reader client.Reader, name string) (*metalv1alpha1.ServerClaim, error) {
	claim := &metalv1alpha1.ServerClaim{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: i.Session.Namespace, Name: name}, claim); err != nil {
		return nil, kubernetes.IgnoreNotFound(err)
	}
	return claim, nil
}

// claims returns the claims of all machines of the shoot on the site. They must not be changed.
func (i *Inventory) claims(ctx context.Context, reader client.Reader) ([]metalv1alpha1.ServerClaim, error) {
	return i.selectClaims(ctx, reader, client.MatchingLabels(i.Owner.Labels()))
}

// selectClaims returns the claims of the namespace that the options select.
func (i *Inventory) selectClaims(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]metalv1alpha1.ServerClaim,
	error) {
	list := &metalv1alpha1.ServerClaimList{}
	err := reader.List(ctx, list, append(options, client.InNamespace(i.Session.Namespace), client.UnsafeDisableDeepCopy)...)
	return list.Items, kubernetes.Classify(err)
}

// server returns the server of the name, nil if the inventory has none.
func (i *Inventory) server(ctx context.Context, reader client.Reader, name string) (*metalv1alpha1.Server, error) {
	if name == "" {
		return nil, nil
	}
	server := &metalv1alpha1.Server{}
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, server); err != nil {
		return nil, kubernetes.IgnoreNotFound(err)
	}
	return server, nil
}

// servers returns all servers of the inventory. They must not be changed.
func (i *Inventory) servers(ctx context.Context, reader client.Reader) ([]metalv1alpha1.Server, error) {
	list := &metalv1alpha1.ServerList{}
	err := reader.List(ctx, list, client.UnsafeDisableDeepCopy, kubernetes.Stripped(strip))
	return list.Items, kubernetes.Classify(err)
}

// serversOf returns the servers of the claims by their names. Those of a few claims are read one by one, because the inventory may have
// thousands of others.
func (i *Inventory) serversOf(ctx context.Context, reader client.Reader,
	claims []metalv1alpha1.ServerClaim) (map[string]*metalv1alpha1.Server, error) {
	byName := map[string]*metalv1alpha1.Server{}
	if len(claims) > fewClaims {
		servers, err := i.servers(ctx, reader)
		for index := range servers {
			byName[servers[index].Name] = &servers[index]
		}
		return byName, err
	}
	found := make([]*metalv1alpha1.Server, len(claims))
	errs := platform.Each(len(claims), func(index int) (err error) {
		found[index], err = i.server(ctx, reader, serverName(&claims[index]))
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	for _, server := range found {
		if server != nil {
			byName[server.Name] = server
		}
	}
	return byName, nil
}

// strip removes what is not read from an object, because a process keeps all servers of an inventory.
func strip(object any) (any, error) {
	if o, ok := object.(client.Object); ok {
		o.SetManagedFields(nil)
	}
	if server, ok := object.(*metalv1alpha1.Server); ok {
		server.OwnerReferences = nil
		server.Spec.BootOrder = nil
		server.Status.Processors = nil
		server.Status.Storages = nil
		for index := range server.Status.NetworkInterfaces {
			server.Status.NetworkInterfaces[index].IPs = nil
			server.Status.NetworkInterfaces[index].Neighbors = nil
		}
	}
	return object, nil
}
