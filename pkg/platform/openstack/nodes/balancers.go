// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	library "k8s.io/cloud-provider-openstack/pkg/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
)

// loadBalancers wraps the library's load balancers. The library trusts the references of a Service and mistakes a load balancer of another
// cluster for a renamed one of its own, so references are checked first.
type loadBalancers struct {
	cloudprovider.LoadBalancer

	owner     owner.Owner
	config    *v1alpha1.OpenStackLoadBalancer
	balancing *gophercloud.ServiceClient
	network   *gophercloud.ServiceClient
}

// Annotations implements platform.LoadBalancers.
func (*loadBalancers) Annotations() []string {
	return []string{library.ServiceAnnotationLoadBalancerID, library.ServiceAnnotationLoadBalancerAddress}
}

// GetLoadBalancer implements platform.LoadBalancers.
func (b *loadBalancers) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool,
	error) {
	service, err := b.withoutForeign(ctx, service)
	if err != nil {
		return nil, false, err
	}
	return b.LoadBalancer.GetLoadBalancer(transport.OneOperation(ctx), cluster, service)
}

// EnsureLoadBalancer implements platform.LoadBalancers.
func (b *loadBalancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	if id := service.Annotations[library.ServiceAnnotationLoadBalancerFloatingNetworkID]; id != "" && !b.allowsFloatingNetwork(id) {
		return nil, platform.NewError(platform.ClassConfiguration, "%s: the CloudProfile does not allow %q",
			annotation(library.ServiceAnnotationLoadBalancerFloatingNetworkID), id)
	}
	if err := b.check(ctx, service); err != nil {
		return nil, err
	}
	return b.LoadBalancer.EnsureLoadBalancer(transport.OneOperation(ctx), cluster, service, nodes)
}

// UpdateLoadBalancer implements platform.LoadBalancers.
func (b *loadBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	if err := b.check(ctx, service); err != nil {
		return err
	}
	return b.LoadBalancer.UpdateLoadBalancer(transport.OneOperation(ctx), cluster, service, nodes)
}

// EnsureLoadBalancerDeleted implements platform.LoadBalancers.
func (b *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	service, err := b.withoutForeign(ctx, service)
	if err != nil {
		return err
	}
	return b.LoadBalancer.EnsureLoadBalancerDeleted(transport.OneOperation(ctx), cluster, service)
}

// withoutForeign returns the Service without the ID of a load balancer of another cluster: one with the name of the Service may be left
// behind.
func (b *loadBalancers) withoutForeign(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	foreign, err := reference{value: service.Annotations[library.ServiceAnnotationLoadBalancerID], isForeign: b.foreignBalancer}.check(ctx)
	if err != nil || !foreign {
		return service, err
	}
	service = service.DeepCopy()
	delete(service.Annotations, library.ServiceAnnotationLoadBalancerID)
	return service, nil
}

// reference is an object that a Service refers to.
type reference struct {
	field, value string
	isForeign    func(context.Context, string) (bool, error)
}

// check reports whether the object belongs to another shoot. Missing objects are left to the library.
func (r reference) check(ctx context.Context) (bool, error) {
	if r.value == "" {
		return false, nil
	}
	foreign, err := r.isForeign(ctx, r.value)
	return foreign, client.IgnoreNotFound(err)
}

// check returns an error if the Service refers to an object of another shoot. The error does not name that shoot.
func (b *loadBalancers) check(ctx context.Context, service *corev1.Service) error {
	annotated := func(name string, isForeign func(context.Context, string) (bool, error)) reference {
		return reference{field: annotation(name), value: service.Annotations[name], isForeign: isForeign}
	}
	for _, r := range []reference{
		annotated(library.ServiceAnnotationLoadBalancerID, b.foreignBalancer),
		annotated(library.ServiceAnnotationLoadBalancerPortID, b.foreignPort),
		annotated(library.ServiceAnnotationLoadBalancerNetworkID, b.foreignNetwork),
		annotated(library.ServiceAnnotationLoadBalancerSubnetID, b.foreignSubnet),
		annotated(library.ServiceAnnotationLoadBalancerMemberSubnetID, b.foreignSubnet),
		{field: "spec.loadBalancerIP", value: service.Spec.LoadBalancerIP, isForeign: b.foreignFloatingIP},
	} {
		foreign, err := r.check(ctx)
		if err != nil {
			return err
		}
		if foreign {
			return platform.NewError(platform.ClassConflict, "%s: %q was not made for this shoot and cannot be used", r.field, r.value)
		}
	}
	return nil
}

func (b *loadBalancers) allowsFloatingNetwork(id string) bool {
	return b.config.FloatingNetworks == nil || id == b.config.FloatingNetworkID || slices.Contains(b.config.FloatingNetworks, id) ||
		slices.ContainsFunc(b.config.Classes, func(class v1alpha1.OpenStackLoadBalancerClass) bool { return class.FloatingNetworkID == id })
}

func annotation(name string) string {
	return "metadata.annotations[" + name + "]"
}

func (b *loadBalancers) foreignBalancer(ctx context.Context, id string) (bool, error) {
	found, err := client.Extracted(loadbalancers.Get(ctx, b.balancing, id).Extract())
	return err == nil && b.owner.IsForeignLoadBalancer(found.Name, found.Description, found.Tags), err
}

func (b *loadBalancers) foreignPort(ctx context.Context, id string) (bool, error) {
	found, err := client.Extracted(ports.Get(ctx, b.network, id).Extract())
	return err == nil && b.owner.IsForeign(found.Description, found.Tags), err
}

func (b *loadBalancers) foreignNetwork(ctx context.Context, id string) (bool, error) {
	found, err := client.Extracted(networks.Get(ctx, b.network, id).Extract())
	return err == nil && b.owner.IsForeign(found.Description, found.Tags), err
}

func (b *loadBalancers) foreignSubnet(ctx context.Context, id string) (bool, error) {
	found, err := client.Extracted(subnets.Get(ctx, b.network, id).Extract())
	return err == nil && b.owner.IsForeign(found.Description, found.Tags), err
}

func (b *loadBalancers) foreignFloatingIP(ctx context.Context, address string) (bool, error) {
	found, err := client.List(ctx, floatingips.List(b.network, floatingips.ListOpts{FloatingIP: address}), floatingips.ExtractFloatingIPs)
	return slices.ContainsFunc(found, func(ip floatingips.FloatingIP) bool { return b.owner.IsForeign(ip.Description, ip.Tags) }), err
}
