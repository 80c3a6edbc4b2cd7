// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// cloud is the cloud of the controllers of one site. It is either for nodes or for Services; the other part is nil.
type cloud struct {
	instances *instances
	balancers *balancers
}

var _ cloudprovider.Interface = &cloud{}

// newNodesCloud returns the cloud for the controllers of a site's nodes. It only returns errors once ctx is done, so that a controller that
// is still running does not interfere with its replacement.
func newNodesCloud(ctx context.Context, config *siteConfig, machines platform.NodeMachines, drivers *csiDrivers, b *births) *cloud {
	return &cloud{instances: &instances{ctx: ctx, config: config, machines: machines, drivers: drivers, births: b}}
}

// newServicesCloud returns the cloud for the controller of a site's Services. Like newNodesCloud it only returns errors once ctx is done.
func newServicesCloud(ctx context.Context, config *siteConfig, client kubernetes.Interface, next platform.LoadBalancers) *cloud {
	return &cloud{balancers: &balancers{ctx: ctx, site: config.Site.Name, client: client, next: next}}
}

// Initialize implements cloudprovider.Interface.
func (*cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer implements cloudprovider.Interface.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return c.balancers, c.balancers != nil
}

// Instances implements cloudprovider.Interface.
func (*cloud) Instances() (cloudprovider.Instances, bool) {
	return nil, false
}

// InstancesV2 implements cloudprovider.Interface.
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return c.instances, c.instances != nil
}

// Zones implements cloudprovider.Interface.
func (*cloud) Zones() (cloudprovider.Zones, bool) {
	return nil, false
}

// Clusters implements cloudprovider.Interface.
func (*cloud) Clusters() (cloudprovider.Clusters, bool) {
	return nil, false
}

// Routes implements cloudprovider.Interface. There are none, because the pod network is an overlay.
func (*cloud) Routes() (cloudprovider.Routes, bool) {
	return nil, false
}

// ProviderName implements cloudprovider.Interface.
func (*cloud) ProviderName() string {
	return v1alpha1.ProviderType
}

// HasClusterID implements cloudprovider.Interface.
func (*cloud) HasClusterID() bool {
	return true
}

// balancers are the load balancers of one site. They mark a Service before they create anything for it.
type balancers struct {
	// ctx is done when the set ends.
	ctx    context.Context
	site   string
	client kubernetes.Interface
	next   platform.LoadBalancers
}

var _ cloudprovider.LoadBalancer = &balancers{}

// GetLoadBalancer implements cloudprovider.LoadBalancer. The site has none for a Service with the mark of another, removed, site. It is not
// asked, because it may return an error for the ID of a load balancer in another project.
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

// mark annotates the Service with the site that has, or is about to have, its load balancer: the class is lost when the type of the Service
// changes. If it replaces the mark of another, removed, site, it also removes the platform's annotations of the old load balancer. Those
// that the user set for the first load balancer are kept.
func mark(ctx context.Context, client kubernetes.Interface, service *corev1.Service, site string, platformAnnotations []string) error {
	before := service.Annotations[v1alpha1.AnnotationLoadBalancerSite]
	if before == site {
		return nil
	}
	changes := map[string]*string{v1alpha1.AnnotationLoadBalancerSite: &site}
	if before != "" {
		for _, key := range platformAnnotations {
			changes[key] = nil
		}
	}
	if err := annotate(ctx, client, service, changes); err != nil {
		return err
	}
	annotations := map[string]string{v1alpha1.AnnotationLoadBalancerSite: site}
	for key, value := range service.Annotations {
		if _, ok := changes[key]; !ok {
			annotations[key] = value
		}
	}
	service.Annotations = annotations
	return nil
}

// annotate sets annotations of the Service, and removes those that are nil.
func annotate(ctx context.Context, client kubernetes.Interface, service *corev1.Service, annotations map[string]*string) error {
	return patchMetadata(ctx, client, service, types.MergePatchType, map[string]any{"annotations": annotations})
}

// removeFinalizer removes the finalizer of the load balancer. It is a no-op if the Service no longer exists or was created again.
func removeFinalizer(ctx context.Context, client kubernetes.Interface, service *corev1.Service) error {
	err := patchMetadata(ctx, client, service, types.StrategicMergePatchType,
		map[string]any{"$deleteFromPrimitiveList/finalizers": []string{servicehelper.LoadBalancerCleanupFinalizer}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// patchMetadata patches the metadata of the Service. It fails for another Service of the same name.
func patchMetadata(ctx context.Context, client kubernetes.Interface, service *corev1.Service, patchType types.PatchType,
	metadata map[string]any) error {
	metadata["uid"] = service.UID
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, patchType, patch, metav1.PatchOptions{})
	return err
}
