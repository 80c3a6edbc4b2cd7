// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// cloud is what controllers of one site know of the world. What they do not need is nil.
type cloud struct {
	instances *instances
	balancers *balancers
}

var _ cloudprovider.Interface = &cloud{}

// newNodesCloud returns the cloud for the controllers of a site's nodes. After ctx ended it answers with errors only, so that a
// controller that is late does nothing beside the one that replaced it.
func newNodesCloud(ctx context.Context, config *siteConfig, machines platform.NodeMachines, drivers *csiDrivers) *cloud {
	return &cloud{instances: &instances{ctx: ctx, config: config, machines: machines, drivers: drivers}}
}

// newServicesCloud returns the cloud for the controller of a site's Services, which ends in the same way.
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

// Routes implements cloudprovider.Interface. The pod network is an overlay in all shoots with several sites.
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

// call calls f with a context that ends with that of the caller and with that of the set. It fails if the set ended, and if f panics.
func call[T any](caller, set context.Context, f func(context.Context) (T, error)) (T, error) {
	if err := set.Err(); err != nil {
		var none T
		return none, fmt.Errorf("the controllers of the site were replaced: %w", err)
	}
	ctx, cancel := context.WithCancel(caller)
	defer cancel()
	defer context.AfterFunc(set, cancel)()
	return platform.Safely(func() (T, error) { return f(ctx) })
}
