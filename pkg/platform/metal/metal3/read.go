// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"path"
	"slices"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// cacheKey is the key of the watch of all hosts of a namespace.
type cacheKey struct{}

// Hosts implements inventory.Inventory.
func (i *Inventory) Hosts(ctx context.Context, selections ...inventory.Selection) ([][]inventory.Host, error) {
	hosts, err := i.hosts(ctx, i.reader(ctx))
	if err != nil {
		return nil, err
	}
	result := make([][]inventory.Host, len(selections))
	for s := range selections {
		for index := range hosts {
			if host := &hosts[index]; selections[s].Matches(host.Labels) {
				result[s] = append(result[s], hostOf(host, machineOf(host, i.Owner), selections[s].Cleaning))
			}
		}
	}
	return result, nil
}

// Find implements inventory.Inventory.
func (i *Inventory) Find(ctx context.Context, machine, providerID string) (*inventory.Host, error) {
	if machine == "" {
		machine = path.Base(providerID)
	}
	host, err := i.find(ctx, machine, providerID)
	if host == nil || err != nil {
		return nil, err
	}
	return new(hostOf(host, machine, "")), nil
}

// FindByNodeName implements inventory.Inventory. Nodes are named after their machines or after their hosts.
func (i *Inventory) FindByNodeName(ctx context.Context, name string) ([]inventory.Host, error) {
	var hosts []metal3v1alpha1.BareMetalHost
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
	return machinesOf(hosts, i.Owner), nil
}

// Check implements inventory.Inventory.
func (i *Inventory) Check(ctx context.Context) error {
	_, err := i.hosts(ctx, i.Client(), client.MatchingLabels(i.Owner.Labels()), client.Limit(1))
	return err
}

// Machines implements inventory.Inventory.
func (i *Inventory) Machines(ctx context.Context) ([]inventory.Host, error) {
	hosts, err := i.hosts(ctx, i.reader(ctx), client.MatchingLabels(i.Owner.Labels()))
	if err != nil {
		return nil, err
	}
	return machinesOf(hosts, i.Owner), nil
}

// machinesOf returns those of the hosts that are machines of the owner.
func machinesOf(hosts []metal3v1alpha1.BareMetalHost, o owner.Owner) []inventory.Host {
	var result []inventory.Host
	for index := range hosts {
		if machine := machineOf(&hosts[index], o); machine != "" {
			result = append(result, hostOf(&hosts[index], machine, ""))
		}
	}
	return result
}

// Faults implements inventory.Inventory.
func (i *Inventory) Faults(ctx context.Context, shoots []string) ([]platform.Fault, error) {
	ofShoots, err := owner.OnSite(i.Owner.Site, shoots)
	if err != nil {
		return nil, err
	}
	hosts, err := i.hosts(ctx, i.Client(), ofShoots, metalclient.Stripped(strip))
	if err != nil {
		return nil, err
	}
	var faults []platform.Fault
	for index := range hosts {
		host := &hosts[index]
		o := owner.Of(host.Labels)
		if machine, message := machineOf(host, o), fault(host); machine != "" && message != "" {
			faults = append(faults, platform.Fault{Shoot: o.Shoot, Machine: machine, Host: host.Name, Message: message})
		}
	}
	return faults, nil
}

// find returns the host of the machine with the provider ID, nil if it has none. The ID names the host; without one all hosts are
// searched, because the labels of a host may have been replaced while its consumer still names the machine. A watch may lag behind, so
// that only a request proves that there is none. That one is by label, which came with the host, because each new machine costs one.
func (i *Inventory) find(ctx context.Context, machine, providerID string) (*metal3v1alpha1.BareMetalHost, error) {
	reader := i.reader(ctx)
	if providerID != "" {
		host, err := i.findByID(ctx, reader, machine, providerID)
		if host == nil && err == nil && !metalclient.IsLive(reader) {
			return i.findByID(ctx, i.Client(), machine, providerID)
		}
		return host, err
	}
	hosts, err := i.hosts(ctx, reader)
	if err != nil {
		return nil, err
	}
	host, err := i.only(hosts, machine)
	if host != nil || err != nil || metalclient.IsLive(reader) {
		return host, err
	}
	if hosts, err = i.labelled(ctx, machine); err != nil {
		return nil, err
	}
	return i.only(hosts, machine)
}

// findByID returns the host that the provider ID names, nil if it is not the machine.
func (i *Inventory) findByID(ctx context.Context, reader client.Reader, machine, providerID string) (*metal3v1alpha1.BareMetalHost, error) {
	host, err := i.read(ctx, reader, path.Base(path.Dir(providerID)))
	if host == nil || err != nil || !isOf(host, i.Owner, machine) || providerIDOf(host, machine) != providerID {
		return nil, err
	}
	return host, nil
}

// only returns the one of the hosts that is the machine, nil if there is none. Several hosts are the same machine if the manifest of one
// was copied.
func (i *Inventory) only(hosts []metal3v1alpha1.BareMetalHost, machine string) (*metal3v1alpha1.BareMetalHost, error) {
	var found *metal3v1alpha1.BareMetalHost
	for index := range hosts {
		host := &hosts[index]
		switch {
		case !isOf(host, i.Owner, machine):
		case found != nil:
			return nil, platform.NewError(platform.ClassConflict,
				"hosts %q and %q both are machine %q; neither is touched until only one of them is",
				found.Name, host.Name, machine)
		default:
			found = host
		}
	}
	return found.DeepCopy(), nil
}

// labelled asks for the hosts with the labels of the machine.
func (i *Inventory) labelled(ctx context.Context, machine string) ([]metal3v1alpha1.BareMetalHost, error) {
	return i.hosts(ctx, i.Client(), client.MatchingLabels(i.Owner.MachineLabels(machine)))
}

// isShared reports whether the machine has another host than the one with the provider ID. It does not rely on a watch, because what the
// hosts share would be deleted.
func (i *Inventory) isShared(ctx context.Context, machine, providerID string) (bool, error) {
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
		if host := &known[index]; isOf(host, i.Owner, machine) && providerIDOf(host, machine) != providerID {
			current, err := i.read(ctx, i.Client(), host.Name)
			if err != nil {
				return false, err
			}
			if current != nil {
				hosts = append(hosts, *current)
			}
		}
	}
	return slices.ContainsFunc(hosts, func(host metal3v1alpha1.BareMetalHost) bool {
		return isOf(&host, i.Owner, machine) && providerIDOf(&host, machine) != providerID
	}), nil
}

// hosts returns the hosts of the namespace that the options select, or all of them stripped. They must not be changed.
func (i *Inventory) hosts(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]metal3v1alpha1.BareMetalHost, error) {
	if len(options) == 0 {
		options = []client.ListOption{metalclient.Stripped(strip)}
	}
	list := &metal3v1alpha1.BareMetalHostList{}
	err := reader.List(ctx, list, append(options, client.InNamespace(i.Session.Namespace), client.UnsafeDisableDeepCopy)...)
	return list.Items, metalclient.Classify(err)
}

// read returns the host of the name, nil if the inventory has none.
func (i *Inventory) read(ctx context.Context, reader client.Reader, name string) (*metal3v1alpha1.BareMetalHost, error) {
	host := &metal3v1alpha1.BareMetalHost{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: i.Session.Namespace, Name: name}, host); err != nil {
		return nil, metalclient.IgnoreNotFound(err)
	}
	return host, nil
}

// reader returns a reader of hosts: a watch that has synced, or else a client.
func (i *Inventory) reader(ctx context.Context) client.Reader {
	return i.Reader(ctx, cacheKey{}, cache.Options{
		DefaultTransform:  strip,
		DefaultNamespaces: map[string]cache.Config{i.Session.Namespace: {}},
	}, &metal3v1alpha1.BareMetalHost{})
}

// strip removes what is not read from a host, because a process keeps all hosts of an inventory.
func strip(object any) (any, error) {
	if host, ok := object.(*metal3v1alpha1.BareMetalHost); ok {
		host.ManagedFields = nil
		host.OwnerReferences = nil
		delete(host.Annotations, metal3v1alpha1.HardwareDetailsAnnotation)
		delete(host.Annotations, metal3v1alpha1.StatusAnnotation)
		host.Spec.BMC = metal3v1alpha1.BMCDetails{}
		host.Spec.RAID = nil
		host.Spec.RootDeviceHints = nil
		host.Status.HardwareDetails = nil
		host.Status.GoodCredentials = metal3v1alpha1.CredentialsStatus{}
		host.Status.TriedCredentials = metal3v1alpha1.CredentialsStatus{}
		host.Status.OperationHistory = metal3v1alpha1.OperationHistory{}
		host.Status.Conditions = nil
		host.Status.Provisioning = metal3v1alpha1.ProvisionStatus{State: host.Status.Provisioning.State}
	}
	return object, nil
}
