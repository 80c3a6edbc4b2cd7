// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
)

// interval is how often a claim is polled.
const interval = 250 * time.Millisecond

// wait returns the claim of the machine when it has an address, when its allocator has refused one, or after the duration.
func (a *Addresses) wait(ctx context.Context, machine string, duration time.Duration) (*claim, error) {
	object, err := a.object(claimKind, machine)
	if err != nil {
		return nil, err
	}
	var found *claim
	_, err = kubernetes.Poll(ctx, interval, duration, func() (bool, error) {
		if err := a.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		if found, err = decode[claim](object); err != nil {
			return false, err
		}
		return found.Status.AddressRef.Name != "" || found.exhausted() != nil, nil
	})
	return found, err
}

// read returns the address of the name, which the machine's claim refers to.
func (a *Addresses) read(ctx context.Context, machine, name string) (Address, error) {
	object, err := a.object(addressKind, name)
	if err != nil {
		return Address{}, err
	}
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return Address{}, kubernetes.Classify(err)
	}
	found, err := decode[address](object)
	if err != nil {
		return Address{}, err
	}
	if found.Spec.ClaimRef.Name != machine {
		return Address{}, platform.NewError(platform.ClassConflict, "IPAddress %s/%s belongs to claim %q, not to that of machine %q",
			a.namespace, name, found.Spec.ClaimRef.Name, machine)
	}
	ip, err := netip.ParseAddr(found.Spec.Address)
	if err != nil {
		return Address{}, platform.NewError(platform.ClassConfiguration, "IPAddress %s/%s: %w", a.namespace, name, err)
	}
	result := Address{IP: netip.PrefixFrom(ip, found.Spec.Prefix)}
	if !result.IP.IsValid() {
		return Address{}, platform.NewError(platform.ClassConfiguration, "IPAddress %s/%s: prefix length %d is invalid for %s",
			a.namespace, name, found.Spec.Prefix, ip)
	}
	if found.Spec.Gateway != "" {
		if result.Gateway, err = netip.ParseAddr(found.Spec.Gateway); err != nil {
			return Address{}, platform.NewError(platform.ClassConfiguration, "IPAddress %s/%s: gateway: %w", a.namespace, name, err)
		}
	}
	return result, nil
}

// refused returns why the claim cannot get an address, nil if the reason is not known.
func (a *Addresses) refused(ctx context.Context, c *claim) error {
	poolRef := c.Spec.PoolRef
	if refusal := c.exhausted(); refusal != nil {
		return platform.NewError(platform.ClassExhausted, "%s has no free address: %s", Describe(poolRef), refusal.Message)
	}
	mapping, err := a.client.RESTMapper().RESTMapping(schema.GroupKind{Group: ptr.Deref(poolRef.APIGroup, corev1.GroupName),
		Kind: poolRef.Kind})
	if err != nil {
		return kubernetes.Classify(err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	err = kubernetes.Classify(a.client.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: poolRef.Name}, object))
	switch {
	case kubernetes.IsNotFound(err):
		return platform.NewError(platform.ClassConfiguration, "%s does not exist", Describe(poolRef))
	case err != nil && platform.ClassOf(err) == platform.ClassForbidden:
		// The permission to read pools is optional.
		return nil
	case err != nil:
		return err
	}
	if found, err := decode[pool](object); err == nil && found.Status.Addresses != nil && found.Status.Addresses.Free <= 0 {
		return platform.NewError(platform.ClassExhausted, "%s has no free address: all %d are in use", Describe(poolRef),
			found.Status.Addresses.Total)
	}
	return nil
}

// exhausted returns the condition that reports that the pool has no free address, nil if there is none.
func (c *claim) exhausted() *condition {
	for i := range c.Status.Conditions {
		if found := &c.Status.Conditions[i]; found.Type == conditionReady && found.Status == conditionFalse &&
			found.Reason == reasonPoolExhausted {
			return found
		}
	}
	return nil
}
