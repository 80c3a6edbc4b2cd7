// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"path"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// cacheKey is the key of the watch of all hosts of a namespace.
type cacheKey struct{}

// Inventory implements inventory.Inventory.
type Inventory[T any, H Object[T]] struct {
	inventory.Access
	// Kind is what the hosts are like.
	Kind *Kind[T, H]
}

// New returns the inventory of hosts of the kind behind the session.
func New[T any, H Object[T]](session *kubernetes.Session, options inventory.Options, kind *Kind[T, H]) *Inventory[T, H] {
	return &Inventory[T, H]{Access: inventory.NewAccess(session, options), Kind: kind}
}

// HasProviderID implements inventory.Inventory.
func (i *Inventory[T, H]) HasProviderID(providerID string) bool {
	return inventory.HasForm(providerID, i.Kind.ProviderIDPrefix+i.Session.Namespace+"/", inventory.NameFormat+"/"+inventory.NameFormat)
}

// Resources implements inventory.Inventory.
func (i *Inventory[T, H]) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{i.Kind.Resource}
}

// Permissions implements inventory.Inventory.
func (i *Inventory[T, H]) Permissions() []authorizationv1.ResourceAttributes {
	return append(
		kubernetes.Permissions(i.Session.Namespace, i.Kind.Resource.Group, i.Kind.Resource.Resource, "get", "list", "watch", "patch"),
		kubernetes.Permissions(i.Session.Namespace, corev1.GroupName, "secrets", "create", "patch", "delete")...)
}

// Hosts implements inventory.Inventory.
func (i *Inventory[T, H]) Hosts(ctx context.Context, selections ...inventory.Selection) ([][]inventory.Host, error) {
	hosts, err := i.hosts(ctx, i.reader(ctx))
	if err != nil {
		return nil, err
	}
	result := make([][]inventory.Host, len(selections))
	for s := range selections {
		for index := range hosts {
			if host := H(&hosts[index]); selections[s].Matches(host.GetLabels()) {
				result[s] = append(result[s], i.Kind.HostOf(host, i.Kind.MachineOf(host, i.Owner), &selections[s]))
			}
		}
	}
	return result, nil
}

// Find implements inventory.Inventory.
func (i *Inventory[T, H]) Find(ctx context.Context, machine, providerID string) (*inventory.Host, error) {
	if machine == "" {
		machine = path.Base(providerID)
	}
	host, err := i.find(ctx, machine, providerID)
	if host == nil || err != nil {
		return nil, err
	}
	return new(i.Kind.machine(host, machine)), nil
}

// FindByNodeName implements inventory.Inventory. Nodes are named after their machines or after their hosts.
func (i *Inventory[T, H]) FindByNodeName(ctx context.Context, name string) ([]inventory.Host, error) {
	var hosts []T
	if len(validation.IsValidLabelValue(name)) == 0 {
		var err error
		if hosts, err = i.labelled(ctx, name); err != nil {
			return nil, err
		}
	}
	named, err := i.read(ctx, i.Client(), name)
	if err != nil {
		return nil, err
	}
	if named != nil {
		hosts = append(hosts, *named)
	}
	return i.machinesOf(hosts), nil
}

// Check implements inventory.Inventory.
func (i *Inventory[T, H]) Check(ctx context.Context) error {
	_, err := i.hosts(ctx, i.Client(), client.MatchingLabels(i.Owner.Labels()), client.Limit(1))
	return err
}

// Machines implements inventory.Inventory.
func (i *Inventory[T, H]) Machines(ctx context.Context) ([]inventory.Host, error) {
	hosts, err := i.hosts(ctx, i.reader(ctx), client.MatchingLabels(i.Owner.Labels()))
	if err != nil {
		return nil, err
	}
	return i.machinesOf(hosts), nil
}

// machinesOf returns those of the hosts that are machines of the owner.
func (i *Inventory[T, H]) machinesOf(hosts []T) []inventory.Host {
	var result []inventory.Host
	for index := range hosts {
		if machine := i.Kind.MachineOf(&hosts[index], i.Owner); machine != "" {
			result = append(result, i.Kind.machine(&hosts[index], machine))
		}
	}
	return result
}

// Faults implements inventory.Inventory.
func (i *Inventory[T, H]) Faults(ctx context.Context, shoots []string) ([]platform.Fault, error) {
	ofShoots, err := owner.OnSite(i.Owner.Site, shoots)
	if err != nil {
		return nil, err
	}
	hosts, err := i.hosts(ctx, i.Client(), ofShoots, kubernetes.Stripped(i.Kind.Strip))
	if err != nil {
		return nil, err
	}
	var faults []platform.Fault
	for index := range hosts {
		host := H(&hosts[index])
		o := owner.Of(host.GetLabels())
		machine := i.Kind.MachineOf(host, o)
		if machine == "" {
			continue
		}
		if message := i.Kind.machine(host, machine).Fault; message != "" {
			faults = append(faults, platform.Fault{Shoot: o.Shoot, Machine: machine, Host: host.GetName(), Message: message})
		}
	}
	return faults, nil
}

// Survey implements inventory.Inventory.
func (i *Inventory[T, H]) Survey(ctx context.Context, cleaning string) ([]inventory.Surveyed, error) {
	hosts, err := i.hosts(ctx, i.Client(), kubernetes.Stripped(i.Kind.StripSurveyed))
	return lists.Map(hosts, func(found T) inventory.Surveyed {
		host := H(&found)
		surveyed := i.Kind.Surveyed(host)
		surveyed.Name, surveyed.Labels = host.GetName(), host.GetLabels()
		surveyed.Free = i.Kind.ObstacleTo(host, &inventory.Selection{Cleaning: cleaning}) == ""
		return surveyed
	}), err
}

// find returns the host of the machine with the provider ID, nil if it has none. The ID names the host; without one all hosts are
// searched, because the labels of a host may have been replaced while its consumer still names the machine. A watch may lag behind, so
// that only a request proves that there is none. That one is by label, which came with the host, because each new machine costs one.
func (i *Inventory[T, H]) find(ctx context.Context, machine, providerID string) (H, error) {
	reader := i.reader(ctx)
	if providerID != "" {
		host, err := i.findByID(ctx, reader, machine, providerID)
		if host == nil && err == nil && !kubernetes.IsLive(reader) {
			return i.findByID(ctx, i.Client(), machine, providerID)
		}
		return host, err
	}
	hosts, err := i.hosts(ctx, reader)
	if err != nil {
		return nil, err
	}
	host, err := i.only(hosts, machine)
	if host != nil || err != nil || kubernetes.IsLive(reader) {
		return host, err
	}
	if hosts, err = i.labelled(ctx, machine); err != nil {
		return nil, err
	}
	return i.only(hosts, machine)
}

// findByID returns the host that the provider ID names, nil if it is not the machine.
func (i *Inventory[T, H]) findByID(ctx context.Context, reader client.Reader, machine, providerID string) (H, error) {
	host, err := i.read(ctx, reader, path.Base(path.Dir(providerID)))
	if host == nil || err != nil || !i.Kind.IsOf(host, i.Owner, machine) || ProviderID(i.Kind.ProviderIDPrefix, host, machine) != providerID {
		return nil, err
	}
	return host, nil
}

// only returns the one of the hosts that is the machine, nil if there is none. Several hosts are the same machine if the manifest of one
// was copied.
func (i *Inventory[T, H]) only(hosts []T, machine string) (H, error) {
	var found H
	for index := range hosts {
		host := H(&hosts[index])
		switch {
		case !i.Kind.IsOf(host, i.Owner, machine):
		case found != nil:
			return nil, platform.NewError(platform.ClassConflict,
				"hosts %q and %q both are machine %q; neither is touched until only one of them is",
				found.GetName(), host.GetName(), machine)
		default:
			found = host
		}
	}
	return copyOf(found), nil
}

// labelled asks for the hosts with the labels of the machine.
func (i *Inventory[T, H]) labelled(ctx context.Context, machine string) ([]T, error) {
	return i.hosts(ctx, i.Client(), client.MatchingLabels(i.Owner.MachineLabels(machine)))
}

// isShared reports whether the machine has another host than the one with the provider ID. It does not rely on a watch, because what the
// hosts share would be deleted.
func (i *Inventory[T, H]) isShared(ctx context.Context, machine, providerID string) (bool, error) {
	if providerID == "" {
		return false, nil
	}
	known, err := i.hosts(ctx, i.reader(ctx))
	if err != nil {
		return false, err
	}
	hosts, err := i.labelled(ctx, machine)
	if err != nil {
		return false, err
	}
	for index := range known {
		if host := H(&known[index]); i.Kind.IsOf(host, i.Owner, machine) && ProviderID(i.Kind.ProviderIDPrefix, host, machine) != providerID {
			current, err := i.read(ctx, i.Client(), host.GetName())
			if err != nil {
				return false, err
			}
			if current != nil {
				hosts = append(hosts, *current)
			}
		}
	}
	return slices.ContainsFunc(hosts, func(host T) bool {
		return i.Kind.IsOf(&host, i.Owner, machine) && ProviderID(i.Kind.ProviderIDPrefix, H(&host), machine) != providerID
	}), nil
}

// hosts returns the hosts of the namespace that the options select, or all of them stripped. They must not be changed.
func (i *Inventory[T, H]) hosts(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]T, error) {
	if len(options) == 0 {
		options = []client.ListOption{kubernetes.Stripped(i.Kind.Strip)}
	}
	hosts, err := i.Kind.List(ctx, reader, append(options, client.InNamespace(i.Session.Namespace), client.UnsafeDisableDeepCopy)...)
	return hosts, kubernetes.Classify(err)
}

// read returns the host of the name, nil if the inventory has none.
func (i *Inventory[T, H]) read(ctx context.Context, reader client.Reader, name string) (H, error) {
	host := H(new(T))
	if err := reader.Get(ctx, client.ObjectKey{Namespace: i.Session.Namespace, Name: name}, host); err != nil {
		return nil, kubernetes.IgnoreNotFound(err)
	}
	return host, nil
}

// reader returns a reader of hosts: a watch that has synced, or else a client.
func (i *Inventory[T, H]) reader(ctx context.Context) client.Reader {
	return i.Reader(ctx, cacheKey{}, cache.Options{
		DefaultTransform:  i.Kind.Strip,
		DefaultNamespaces: map[string]cache.Config{i.Session.Namespace: {}},
	}, H(new(T)))
}

// copyOf returns a copy of the host, nil if there is none.
func copyOf[T any, H Object[T]](host H) H {
	if host == nil {
		return nil
	}
	return host.DeepCopyObject().(H)
}
