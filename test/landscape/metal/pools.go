// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pool is a pool of addresses for all namespaces.
type Pool struct {
	// Name is the name of the pool.
	Name string
	// Addresses are single addresses, ranges and CIDRs.
	Addresses []string
	// Excluded are addresses, ranges and CIDRs that are not given away.
	Excluded []string
	// Prefix is the length of the network's prefix in bits.
	Prefix int
	// Gateway is the default gateway.
	Gateway string
}

// MakePool makes a GlobalInClusterIPPool.
func (i *Inventory) MakePool(ctx context.Context, pool Pool) error {
	o := object(pools, kindPool, "", pool.Name)
	o.Object["spec"] = map[string]any{
		"addresses": anys(pool.Addresses), "excludedAddresses": anys(pool.Excluded), "prefix": int64(pool.Prefix), "gateway": pool.Gateway,
	}
	return i.Client.Create(ctx, o)
}

// Addresses returns the addresses that claims got, by the name of the claim. Claims that have none yet have an empty one.
func (i *Inventory) Addresses(ctx context.Context) (map[string]string, error) {
	claims, err := i.list(ctx, ipam, kindAddressClaim, client.InNamespace(Namespace))
	if err != nil {
		return nil, err
	}
	objects, err := i.list(ctx, ipam, kindAddress, client.InNamespace(Namespace))
	byName := map[string]string{}
	for n := range objects {
		byName[objects[n].GetName()] = text(&objects[n], "spec", "address")
	}
	addresses := map[string]string{}
	for n := range claims {
		addresses[claims[n].GetName()] = byName[text(&claims[n], "status", "addressRef", "name")]
	}
	return addresses, err
}

// NewAddressClaim is a claim of an address of a pool, which nobody made yet.
func NewAddressClaim(name, pool string) *unstructured.Unstructured {
	o := object(ipam, kindAddressClaim, Namespace, name)
	o.Object["spec"] = map[string]any{"poolRef": map[string]any{"apiGroup": pools.Group, "kind": kindPool, "name": pool}}
	return o
}

func anys(values []string) []any {
	result := make([]any, 0, len(values))
	for _, value := range values {
		result = append(result, value)
	}
	return result
}
