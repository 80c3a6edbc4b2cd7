// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// balancers stands between the controller of Services and the site. It marks a Service before the site makes anything for it.
type balancers struct {
	// ctx ends with the set.
	ctx    context.Context
	site   string
	client kubernetes.Interface
	next   platform.LoadBalancers
}

var _ cloudprovider.LoadBalancer = &balancers{}

// GetLoadBalancer implements cloudprovider.LoadBalancer. The site has none for a Service with the mark of another one. That is gone, and
// this one is not asked for the ID that it left: it may answer with an error for the load balancer of another project.
func (b *balancers) GetLoadBalancer(ctx context.Context, cluster string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool,
	error) {
	exists := false
	status, err := call(ctx, b.ctx, func(ctx context.Context) (status *corev1.LoadBalancerStatus, err error) {
		if site := service.Annotations[v1alpha1.AnnotationLoadBalancerSite]; site != "" && site != b.site {
			return nil, ctx.Err()
		}
		status, exists, err = b.next.GetLoadBalancer(ctx, cluster, service)
		return status, err
	})
	return status, exists && err == nil, platform.InSite(b.site, err)
}

// GetLoadBalancerName implements cloudprovider.LoadBalancer.
func (b *balancers) GetLoadBalancerName(ctx context.Context, cluster string, service *corev1.Service) string {
	return b.next.GetLoadBalancerName(ctx, cluster, service)
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service,
	nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	status, err := call(ctx, b.ctx, func(ctx context.Context) (*corev1.LoadBalancerStatus, error) {
		if err := mark(ctx, b.client, service, b.site, b.next.Annotations()); err != nil {
			return nil, err
		}
		return b.next.EnsureLoadBalancer(ctx, cluster, service, nodes)
	})
	return status, platform.InSite(b.site, err)
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b *balancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	_, err := call(ctx, b.ctx, func(ctx context.Context) (any, error) {
		return nil, b.next.UpdateLoadBalancer(ctx, cluster, service, nodes)
	})
	return platform.InSite(b.site, err)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b *balancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	_, err := call(ctx, b.ctx, func(ctx context.Context) (any, error) {
		return nil, b.next.EnsureLoadBalancerDeleted(ctx, cluster, service)
	})
	return platform.InSite(b.site, err)
}
