// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"math/big"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
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
var readPools = []schema.GroupKind{{Group: Group, Kind: "InClusterIPPool"},
	{Group: Group, Kind: "GlobalInClusterIPPool"}}

// Check compares the pool that a shoot uses with its site.
type Check struct {
	// API is the API that has the pool, and Namespace the namespace of pools that have one.
	API       client.Client
	Namespace string
	// Site is the site.
	Site *site.Site
	// Ref is the pool, nil if there is none, and Path its path.
	Ref  *corev1.TypedLocalObjectReference
	Path *field.Path
	// Listed is true if the operator lists the pools that shoots may use.
	Listed bool

	// pool is the pool, once it was looked up. It is nil if it does not exist or cannot be read.
	pool *unstructured.Unstructured
}

// Pool checks that the pool exists, and that its addresses belong to the site. The other checks need it.
func (c *Check) Pool(ctx context.Context, result *platform.Result) error {
	path, ref := c.Path, c.Ref
	if ref == nil {
		return nil
	}
	kind := schema.GroupKind{Group: ptr.Deref(ref.APIGroup, ""), Kind: ref.Kind}
	mapping, err := c.API.RESTMapper().RESTMapping(kind)
	if err != nil {
		err = kubernetes.Classify(err)
		if platform.ClassOf(err) != platform.ClassConfiguration {
			return err
		}
		result.Invalid(path, ref.Kind, "the API of the inventory does not serve this kind of API group %q", ptr.Deref(ref.APIGroup, ""))
		return nil
	}
	// Do not let shoot owners probe for objects in the inventory: read only kinds that are compared, or that the operator lists.
	if !slices.Contains(readPools, kind) && !c.Listed {
		result.Unknown(path, "whether there is %s %q is not known, because the site has no addressPools in the CloudProfile", ref.Kind, ref.Name)
		return nil
	}
	object, key := &unstructured.Unstructured{}, client.ObjectKey{Name: ref.Name}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		key.Namespace = c.Namespace
	}
	err = kubernetes.Classify(c.API.Get(ctx, key, object))
	switch {
	case err == nil:
		c.pool = object
		c.foreignAddresses(object, path, result)
	case kubernetes.IsNotFound(err):
		result.Invalid(path, ref.Name, "the inventory has no %s of this name", ref.Kind)
	case platform.ClassOf(err) == platform.ClassForbidden:
		result.Unknown(path, "whether the addresses of %s %q are the site's is not known, because the credentials may not get it", ref.Kind,
			ref.Name)
	default:
		return err
	}
	return nil
}

// Size checks that the pool has an address for each machine of the demands.
func (c *Check) Size(demands []platform.Demand, result *platform.Result) {
	if c.pool == nil {
		return
	}
	given, err := addressesOf(c.pool)
	if err != nil || len(given.Ranges()) == 0 {
		return // that the pool cannot be read is another check
	}
	size := new(big.Int)
	for _, r := range given.Ranges() {
		from, to := r.From().As16(), r.To().As16()
		length := new(big.Int).Sub(new(big.Int).SetBytes(to[:]), new(big.Int).SetBytes(from[:]))
		size.Add(size, length.Add(length, big.NewInt(1)))
	}
	var minimum, maximum int64
	for _, demand := range demands {
		minimum, maximum = minimum+int64(demand.Minimum), maximum+int64(demand.Maximum)
	}
	switch {
	case size.Cmp(big.NewInt(minimum)) < 0:
		result.Invalid(c.Path, c.pool.GetName(), "the pool has %s addresses, and the pools of the Shoot have at least %d machines", size, minimum)
	case size.Cmp(big.NewInt(maximum)) < 0:
		result.Warn(c.Path, "the pool has %s addresses, and the pools of the Shoot can have %d machines", size, maximum)
	}
}

// foreignAddresses finds addresses of the pool that are outside the site's node networks, or the gateway's.
func (c *Check) foreignAddresses(object *unstructured.Unstructured, path *field.Path, result *platform.Result) {
	given, err := addressesOf(object)
	if err != nil {
		result.Invalid(path, object.GetName(), "the pool cannot be read: %v", err)
		return
	}
	if gateway := c.Site.Network.Gateway; gateway.IsValid() && given.Contains(gateway) {
		result.Invalid(path, object.GetName(), "the pool gives away the gateway %s; exclude it", gateway)
		return
	}
	var foreign netipx.IPSetBuilder
	foreign.AddSet(given)
	for _, prefix := range c.Site.Network.Nodes {
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
			c.Site.Network.Nodes)
	}
}

// BalancerAddresses finds addresses of load balancers that the pool gives to machines, too.
func (c *Check) BalancerAddresses(balancers *v1alpha1.SiteLoadBalancer, result *platform.Result) {
	if c.pool == nil || balancers == nil || balancers.MetalLB == nil {
		return
	}
	given, err := addressesOf(c.pool)
	if err != nil {
		return // that the pool cannot be read is another check
	}
	path := controlPlanePath.Key(c.Site.Name).Child("loadBalancer", "metalLB", "addressPools")
	for _, p := range balancers.MetalLB.AddressPools {
		for _, text := range p.CIDRs {
			if r, err := parseRange(text); err == nil && given.OverlapsRange(r) {
				result.Warn(path.Key(p.Name).Child("cidrs"), "machines can get addresses of %s from %s %q", text, c.pool.GetKind(), c.pool.GetName())
			}
		}
	}
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
