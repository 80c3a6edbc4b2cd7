// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"slices"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// cacheKey is that of the watch of all hosts of a namespace.
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
			if host := &hosts[index]; matches(host, &selections[s]) {
				result[s] = append(result[s], hostOf(host, machineOf(host, i.owner), selections[s].Cleaning))
			}
		}
	}
	return result, nil
}

// Find implements inventory.Inventory.
func (i *Inventory) Find(ctx context.Context, machine, providerID string) (*inventory.Host, error) {
	host, err := i.find(ctx, machine, providerID)
	if host == nil || err != nil {
		return nil, err
	}
	return new(hostOf(host, machine, "")), nil
}

// Machines implements inventory.Inventory.
func (i *Inventory) Machines(ctx context.Context) ([]inventory.Host, error) {
	hosts, err := i.hosts(ctx, i.reader(ctx), client.MatchingLabels(i.owner.Labels()))
	if err != nil {
		return nil, err
	}
	var result []inventory.Host
	for index := range hosts {
		if machine := machineOf(&hosts[index], i.owner); machine != "" {
			result = append(result, hostOf(&hosts[index], machine, ""))
		}
	}
	return result, nil
}

// Faults implements inventory.Inventory.
func (i *Inventory) Faults(ctx context.Context, shoots []string) ([]platform.Fault, error) {
	ofShoots, err := owner.OnSite(i.owner.Site, shoots)
	if err != nil {
		return nil, err
	}
	hosts, err := i.hosts(ctx, i.session.Client(), ofShoots, metalclient.Stripped(strip))
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

// find returns the host of the machine with the provider ID, nil if it has none. It looks at all hosts: somebody may have replaced the
// labels of a host, and its consumer says whose it is. A watch may not know yet what the machine got just now, so that only a request
// proves that it has none. That one is by label, which came with the host, because each new machine costs one.
func (i *Inventory) find(ctx context.Context, machine, providerID string) (*metal3v1alpha1.BareMetalHost, error) {
	reader := i.reader(ctx)
	hosts, err := i.hosts(ctx, reader)
	if err != nil {
		return nil, err
	}
	host, err := i.own(hosts, machine, providerID)
	if host != nil || err != nil || metalclient.IsLive(reader) {
		return host, err
	}
	if hosts, err = i.labelled(ctx, machine); err != nil {
		return nil, err
	}
	return i.own(hosts, machine, providerID)
}

// own returns the one of the hosts that is the machine with the provider ID. Somebody who copies the manifest of a host makes a second
// one of the same machine: without an ID nobody knows which of them is meant.
func (i *Inventory) own(hosts []metal3v1alpha1.BareMetalHost, machine, providerID string) (*metal3v1alpha1.BareMetalHost, error) {
	var found *metal3v1alpha1.BareMetalHost
	for index := range hosts {
		host := &hosts[index]
		switch {
		case !isOf(host, i.owner, machine), providerID != "" && providerIDOf(host, machine) != providerID:
		case found != nil:
			return nil, platform.NewError(platform.ClassConflict,
				"hosts %q and %q both are machine %q; none of them is touched until one of them is not",
				found.Name, host.Name, machine)
		default:
			found = host
		}
	}
	return found.DeepCopy(), nil
}

// labelled asks for the hosts with the labels of the machine.
func (i *Inventory) labelled(ctx context.Context, machine string) ([]metal3v1alpha1.BareMetalHost, error) {
	return i.hosts(ctx, i.session.Client(), client.MatchingLabels(i.owner.MachineLabels(machine)))
}

// isShared reports whether the machine has a host beside the one with the provider ID. It asks without a watch, as what the hosts share
// would be lost.
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
		if host := &known[index]; isOf(host, i.owner, machine) && providerIDOf(host, machine) != providerID {
			current, err := i.read(ctx, i.session.Client(), host.Name)
			if err != nil {
				return false, err
			}
			if current != nil {
				hosts = append(hosts, *current)
			}
		}
	}
	return slices.ContainsFunc(hosts, func(host metal3v1alpha1.BareMetalHost) bool {
		return isOf(&host, i.owner, machine) && providerIDOf(&host, machine) != providerID
	}), nil
}

// hosts returns the hosts of the namespace that the options select, or all of them stripped. They must not be changed.
func (i *Inventory) hosts(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]metal3v1alpha1.BareMetalHost, error) {
	if len(options) == 0 {
		options = []client.ListOption{metalclient.Stripped(strip)}
	}
	list := &metal3v1alpha1.BareMetalHostList{}
	err := reader.List(ctx, list, append(options, client.InNamespace(i.session.Namespace), client.UnsafeDisableDeepCopy)...)
	return list.Items, metalclient.Classify(err)
}

// read returns the host of the name, nil if the inventory has none.
func (i *Inventory) read(ctx context.Context, reader client.Reader, name string) (*metal3v1alpha1.BareMetalHost, error) {
	host := &metal3v1alpha1.BareMetalHost{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: i.session.Namespace, Name: name}, host); err != nil {
		return nil, metalclient.IgnoreNotFound(err)
	}
	return host, nil
}

// reader returns what hosts are read from: a watch that knows all of them, or else requests.
func (i *Inventory) reader(ctx context.Context) client.Reader {
	if !i.watched {
		return i.session.Client()
	}
	return i.session.Reader(ctx, cacheKey{}, cache.Options{
		DefaultTransform:  strip,
		DefaultNamespaces: map[string]cache.Config{i.session.Namespace: {}},
	}, &metal3v1alpha1.BareMetalHost{})
}

// strip takes from a host what nobody reads, because a process keeps all hosts of an inventory.
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
