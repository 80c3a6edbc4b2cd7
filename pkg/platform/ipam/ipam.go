// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package ipam gets the addresses of machines from the pools of a site through the Cluster API IPAM contract. The allocator
// behind a pool is the only one that knows which addresses are free.
package ipam

import (
	"context"
	"errors"
	"net/netip"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
)

// patience is how long to wait for an address, in two parts. The pool is checked for free addresses after each.
var patience = []time.Duration{time.Second, 4 * time.Second}

// Addresses are the addresses of the shoot's machines on a site. Errors are classified.
type Addresses struct {
	client    client.Client
	namespace string
	owner     owner.Owner
}

// Address is the address of a machine.
type Address struct {
	// IP is the address itself with the length of its network's prefix.
	IP netip.Prefix
	// Gateway is the default gateway, invalid if the pool has none.
	Gateway netip.Addr
}

// New returns the addresses that claims in the namespace stand for.
func New(c client.Client, namespace string, o owner.Owner) *Addresses {
	return &Addresses{client: c, namespace: namespace, owner: o}
}

// Permissions are what the credentials must be allowed to do in the namespace of the claims. Pools need not be readable.
func Permissions(namespace string) []authorizationv1.ResourceAttributes {
	return append(kubernetes.Permissions(namespace, Group, "ipaddressclaims", "create", "delete", "get", "list"),
		kubernetes.Permissions(namespace, Group, "ipaddresses", "get")...)
}

// Ensure returns the address of the machine. It claims one from the pool if the machine has none, and waits for it for 5 seconds at
// most. The error is of platform.ClassExhausted if the pool has no free address; no claim is left then. It is transient if the address
// is only late.
func (a *Addresses) Ensure(ctx context.Context, machine string, poolRef corev1.TypedLocalObjectReference) (Address, error) {
	if err := a.create(ctx, machine, poolRef); err != nil {
		return Address{}, err
	}
	for _, duration := range patience {
		found, err := a.wait(ctx, machine, duration)
		if err != nil {
			return Address{}, err
		}
		if name := found.Status.AddressRef.Name; name != "" {
			return a.read(ctx, machine, name)
		}
		if err := a.refused(ctx, found); err != nil {
			if platform.ClassOf(err) == platform.ClassExhausted {
				if releaseErr := a.Release(ctx, machine); releaseErr != nil {
					return Address{}, releaseErr
				}
			}
			return Address{}, err
		}
	}
	return Address{}, notYet(poolRef, machine)
}

// Get returns the address of the machine, a zero one if it has no claim. The error is transient if the address is only late.
func (a *Addresses) Get(ctx context.Context, machine string) (Address, error) {
	object, err := a.object(claimKind, machine)
	if err != nil {
		return Address{}, err
	}
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return Address{}, kubernetes.IgnoreNotFound(err)
	}
	found, err := decode[claim](object)
	if err != nil || !a.owner.OwnsMachine(found.Metadata.Labels, machine) {
		return Address{}, err
	}
	if found.Status.AddressRef.Name == "" {
		return Address{}, notYet(found.Spec.PoolRef, machine)
	}
	return a.read(ctx, machine, found.Status.AddressRef.Name)
}

// errNotServed means that the inventory does not serve the IPAM contract.
var errNotServed = errors.New("the API of the inventory does not serve")

// IsUnavailable reports whether err means that there are no claims, because the inventory does not serve them or the credentials do not
// permit them.
func IsUnavailable(err error) bool {
	return errors.Is(err, errNotServed) || err != nil && platform.ClassOf(err) == platform.ClassForbidden
}

func notYet(poolRef corev1.TypedLocalObjectReference, machine string) error {
	return platform.NewError(platform.ClassTransient, "%s has not given an address to claim %q yet", Describe(poolRef), machine)
}

// Release releases the address of the machine. It is a no-op if the machine has none.
func (a *Addresses) Release(ctx context.Context, machine string) error {
	object, err := a.object(claimKind, machine)
	if err != nil {
		return err
	}
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return kubernetes.IgnoreNotFound(err)
	}
	if !a.owner.OwnsMachine(object.GetLabels(), machine) || object.GetDeletionTimestamp() != nil {
		return nil
	}
	return kubernetes.IgnoreNotFound(a.client.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}))
}

// Machines returns the names of the shoot's machines that have claims.
func (a *Addresses) Machines(ctx context.Context) ([]string, error) {
	kind, err := a.kind(claimKind)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := a.client.List(ctx, list, client.InNamespace(a.namespace), client.MatchingLabels(a.owner.Labels())); err != nil {
		return nil, kubernetes.Classify(err)
	}
	return lists.Map(list.Items, func(claim unstructured.Unstructured) string { return claim.GetLabels()[owner.LabelMachine] }), nil
}

// create creates the claim of the machine if it does not exist. A claim of that name that belongs to something else is a conflict.
func (a *Addresses) create(ctx context.Context, machine string, poolRef corev1.TypedLocalObjectReference) error {
	object, err := a.object(claimKind, machine)
	if err != nil {
		return err
	}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&claimSpec{PoolRef: poolRef})
	if err != nil {
		return kubernetes.Classify(err)
	}
	object.SetLabels(a.owner.MachineLabels(machine))
	object.Object["spec"] = spec
	err = a.client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return kubernetes.Classify(err)
	}
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return kubernetes.Classify(err)
	}
	existing, err := decode[claim](object)
	if err != nil {
		return err
	}
	switch {
	case !a.owner.OwnsMachine(existing.Metadata.Labels, machine):
		return platform.NewError(platform.ClassConflict, "IPAddressClaim %s/%s exists, but is not that of machine %q", a.namespace, machine,
			machine)
	case existing.Metadata.DeletionTimestamp != nil:
		return platform.NewError(platform.ClassTransient, "the address of an earlier machine %q is being released", machine)
	case !samePool(existing.Spec.PoolRef, poolRef):
		return platform.NewError(platform.ClassConflict, "IPAddressClaim %s/%s is for %s, but machine %q needs an address from %s",
			a.namespace, machine, Describe(existing.Spec.PoolRef), machine, Describe(poolRef))
	}
	return nil
}

// object returns an object of the kind with nothing but its name.
func (a *Addresses) object(kind schema.GroupKind, name string) (*unstructured.Unstructured, error) {
	version, err := a.kind(kind)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(version)
	object.SetNamespace(a.namespace)
	object.SetName(name)
	return object, nil
}

// kind returns the kind with the version that the inventory serves. It looks up all versions, because a mapper that discovers them
// returns none if a requested one is not served.
func (a *Addresses) kind(kind schema.GroupKind) (schema.GroupVersionKind, error) {
	mappings, err := a.client.RESTMapper().RESTMappings(kind)
	if err != nil && !meta.IsNoMatchError(err) {
		return schema.GroupVersionKind{}, kubernetes.Classify(err)
	}
	for _, version := range versions {
		for _, mapping := range mappings {
			if mapping.GroupVersionKind.Version == version {
				return mapping.GroupVersionKind, nil
			}
		}
	}
	return schema.GroupVersionKind{}, platform.NewError(platform.ClassConfiguration,
		"%w %s in any of the versions %q", errNotServed, kind, versions)
}

func samePool(a, b corev1.TypedLocalObjectReference) bool {
	return a.Kind == b.Kind && a.Name == b.Name && ptr.Equal(a.APIGroup, b.APIGroup)
}

// Describe returns kind and name of a pool.
func Describe(poolRef corev1.TypedLocalObjectReference) string {
	return poolRef.Kind + " " + `"` + poolRef.Name + `"`
}
