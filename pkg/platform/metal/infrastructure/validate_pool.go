// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
)

// addressPool has the fields of an InClusterIPPool or GlobalInClusterIPPool that are read. They are empty for other pools.
type addressPool struct {
	Spec struct {
		// Addresses are addresses, ranges such as 10.0.0.1-10.0.0.9, and CIDRs.
		Addresses []string `json:"addresses"`
		// ExcludedAddresses are never allocated. They have the same form.
		ExcludedAddresses []string `json:"excludedAddresses"`
		// Gateway is never allocated, either.
		Gateway string `json:"gateway"`
	} `json:"spec"`
}

// controlPlanePath is the path of the sites in the ControlPlaneConfig.
var controlPlanePath = field.NewPath("spec", "provider", "controlPlaneConfig", "sites")

// readPools are the kinds of pools whose addresses are compared with those of the site.
var readPools = []schema.GroupKind{{Group: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool"},
	{Group: "ipam.cluster.x-k8s.io", Kind: "GlobalInClusterIPPool"}}

// checkPool checks that the pool of addresses exists, and that the addresses belong to the site.
func (v *validation) checkPool(ctx context.Context, result *platform.Result) error {
	path, ref := v.path.Child("ipam", "poolRef"), v.ipamPool()
	if ref == nil {
		return nil
	}
	kind := schema.GroupKind{Group: ptr.Deref(ref.APIGroup, ""), Kind: ref.Kind}
	mapping, err := v.api.RESTMapper().RESTMapping(kind)
	if err != nil {
		err = client.Classify(err)
		if platform.ClassOf(err) != platform.ClassConfiguration {
			return err
		}
		result.Invalid(path, ref.Kind, "the API of the inventory does not serve this kind of API group %q", ptr.Deref(ref.APIGroup, ""))
		return nil
	}
	// Do not let shoot owners probe for objects in the inventory: read only kinds that are compared, or that the operator lists.
	if !slices.Contains(readPools, kind) && len(v.site.Profile.Metal.AddressPools) == 0 {
		result.Unknown(path, "whether there is %s %q is not known, because the site has no addressPools in the CloudProfile", ref.Kind, ref.Name)
		return nil
	}
	object, key := &unstructured.Unstructured{}, ctrlclient.ObjectKey{Name: ref.Name}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		key.Namespace = v.namespace
	}
	err = client.Classify(v.api.Get(ctx, key, object))
	switch {
	case err == nil:
		v.pool = object
		v.foreignAddresses(object, path, result)
	case client.IsNotFound(err):
		result.Invalid(path, ref.Name, "the inventory has no %s of this name", ref.Kind)
	case platform.ClassOf(err) == platform.ClassForbidden:
		result.Unknown(path, "whether the addresses of %s %q are the site's is not known, because the credentials may not get it", ref.Kind,
			ref.Name)
	default:
		return err
	}
	return nil
}

// foreignAddresses finds addresses of the pool that are outside the site's node networks, or the gateway's.
func (v *validation) foreignAddresses(object *unstructured.Unstructured, path *field.Path, result *platform.Result) {
	given, err := addressesOf(object)
	if err != nil {
		result.Invalid(path, object.GetName(), "the pool cannot be read: %v", err)
		return
	}
	if gateway := v.site.Network.Gateway; gateway.IsValid() && given.Contains(gateway) {
		result.Invalid(path, object.GetName(), "the pool gives away the gateway %s; exclude it", gateway)
		return
	}
	var foreign netipx.IPSetBuilder
	foreign.AddSet(given)
	for _, prefix := range v.site.Network.Nodes {
		foreign.RemovePrefix(prefix)
	}
	outside, err := foreign.IPSet()
	if err != nil {
		result.Invalid(path, object.GetName(), "the pool cannot be read: %v", err)
		return
	}
	var ranges []string
	for _, r := range outside.Ranges() {
		ranges = append(ranges, r.String())
	}
	if len(ranges) > 0 {
		result.Invalid(path, object.GetName(), "the pool gives away %s outside the site's nodes %s", strings.Join(ranges, ", "),
			v.site.Network.Nodes)
	}
}

// checkBalancerAddresses finds addresses of load balancers that the pool gives to machines, too.
func (v *validation) checkBalancerAddresses(_ context.Context, result *platform.Result) error {
	balancers := v.controlPlane.LoadBalancer
	if v.pool == nil || balancers == nil || balancers.MetalLB == nil {
		return nil
	}
	given, err := addressesOf(v.pool)
	if err != nil {
		return nil //nolint:nilerr // that the pool cannot be read is another check
	}
	path := controlPlanePath.Key(v.site.Name).Child("loadBalancer", "metalLB", "addressPools")
	for _, p := range balancers.MetalLB.AddressPools {
		for _, text := range p.CIDRs {
			if r, err := parseRange(text); err == nil && given.OverlapsRange(r) {
				result.Warn(path.Key(p.Name).Child("cidrs"), "machines can get addresses of %s from %s %q", text, v.pool.GetKind(), v.pool.GetName())
			}
		}
	}
	return nil
}

// addressesOf returns the addresses that the pool allocates.
func addressesOf(object *unstructured.Unstructured) (*netipx.IPSet, error) {
	pool := &addressPool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pool); err != nil {
		return nil, err
	}
	return pool.addresses()
}

// addresses returns the addresses that the pool allocates.
func (p *addressPool) addresses() (*netipx.IPSet, error) {
	var builder netipx.IPSetBuilder
	for _, text := range p.Spec.Addresses {
		r, err := parseRange(text)
		if err != nil {
			return nil, err
		}
		builder.AddRange(r)
	}
	excluded := p.Spec.ExcludedAddresses
	if p.Spec.Gateway != "" {
		excluded = append(excluded, p.Spec.Gateway)
	}
	for _, text := range excluded {
		r, err := parseRange(text)
		if err != nil {
			return nil, err
		}
		builder.RemoveRange(r)
	}
	return builder.IPSet()
}

// parseRange reads an address, a range or a CIDR.
func parseRange(text string) (netipx.IPRange, error) {
	switch {
	case strings.Contains(text, "-"):
		return netipx.ParseIPRange(text)
	case strings.Contains(text, "/"):
		prefix, err := netip.ParsePrefix(text)
		return netipx.RangeOfPrefix(prefix), err
	default:
		addr, err := netip.ParseAddr(text)
		return netipx.IPRangeFrom(addr, addr), err
	}
}
