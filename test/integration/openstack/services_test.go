// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"context"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// services plays the cloud-controller-manager of shoots: it makes what Services need in a project.
type services struct {
	network, balancing, compute, image, volume *gophercloud.ServiceClient
}

func newServices(ctx context.Context, c openstack.Credentials) *services {
	GinkgoHelper()
	provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL,
		Username:         c.Username,
		Password:         c.Password,
		DomainName:       c.Domain,
		TenantName:       c.Project,
	})
	Expect(err).NotTo(HaveOccurred())
	network, err := gopheropenstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: c.Region})
	Expect(err).NotTo(HaveOccurred())
	balancing, err := gopheropenstack.NewLoadBalancerV2(provider, gophercloud.EndpointOpts{Region: c.Region})
	Expect(err).NotTo(HaveOccurred())
	compute, err := gopheropenstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: c.Region})
	Expect(err).NotTo(HaveOccurred())
	image, err := gopheropenstack.NewImageV2(provider, gophercloud.EndpointOpts{Region: c.Region})
	Expect(err).NotTo(HaveOccurred())
	volume, err := gopheropenstack.NewBlockStorageV3(provider, gophercloud.EndpointOpts{Region: c.Region})
	Expect(err).NotTo(HaveOccurred())
	return &services{network: network, balancing: balancing, compute: compute, image: image, volume: volume}
}

// loadBalancer begins to make the load balancer of Service default/<service> with a listener.
func (s *services) loadBalancer(ctx context.Context, cluster, service, subnet string) *loadbalancers.LoadBalancer {
	GinkgoHelper()
	created, err := loadbalancers.Create(ctx, s.balancing, loadbalancers.CreateOpts{
		Name:        "kube_service_" + cluster + "_default_" + service,
		VipSubnetID: subnet,
		Listeners:   []listeners.CreateOpts{{Protocol: listeners.ProtocolTCP, ProtocolPort: 80}},
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { s.deleteLoadBalancer(ctx, created.ID) }, NodeTimeout(2*time.Minute))
	return created
}

// active waits until a load balancer is ready and returns it.
func (s *services) active(ctx context.Context, id string) *loadbalancers.LoadBalancer {
	GinkgoHelper()
	var balancer *loadbalancers.LoadBalancer
	Eventually(func(ctx context.Context) (string, error) {
		var err error
		balancer, err = loadbalancers.Get(ctx, s.balancing, id).Extract()
		if err != nil {
			return "", err
		}
		return balancer.ProvisioningStatus, nil
	}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(Equal("ACTIVE"))
	return balancer
}

// member adds a pool with a member to a load balancer and waits until that is done.
func (s *services) member(ctx context.Context, balancer *loadbalancers.LoadBalancer, address, subnet string) {
	GinkgoHelper()
	pool, err := pools.Create(ctx, s.balancing,
		pools.CreateOpts{LoadbalancerID: balancer.ID, LBMethod: pools.LBMethodRoundRobin, Protocol: pools.ProtocolTCP}).Extract()
	Expect(err).NotTo(HaveOccurred())
	s.active(ctx, balancer.ID)
	_, err = pools.CreateMember(ctx, s.balancing, pool.ID,
		pools.CreateMemberOpts{Address: address, SubnetID: subnet, ProtocolPort: 30080}).Extract()
	Expect(err).NotTo(HaveOccurred())
	s.active(ctx, balancer.ID)
}

func (s *services) deleteLoadBalancer(ctx context.Context, id string) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) (bool, error) {
		balancer, err := loadbalancers.Get(ctx, s.balancing, id).Extract()
		if err != nil || balancer.ProvisioningStatus == "DELETED" {
			return gophercloud.ResponseCodeIs(err, 404) || err == nil, nil
		}
		_ = loadbalancers.Delete(ctx, s.balancing, id, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr() // refused while it changes
		return false, nil
	}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(BeTrue())
}

// floatingIP makes the floating IP of Service default/web on a port; on none if that is empty.
func (s *services) floatingIP(ctx context.Context, cluster, network, port string) *floatingips.FloatingIP {
	GinkgoHelper()
	return s.floatingIPDescribed(ctx, "Floating IP for Kubernetes external service default/web from cluster "+cluster, network, port)
}

func (s *services) floatingIPDescribed(ctx context.Context, description, network, port string) *floatingips.FloatingIP {
	GinkgoHelper()
	created, err := floatingips.Create(ctx, s.network,
		floatingips.CreateOpts{Description: description, FloatingNetworkID: network, PortID: port}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		err := floatingips.Delete(ctx, s.network, created.ID).ExtractErr()
		Expect(err == nil || gophercloud.ResponseCodeIs(err, 404)).To(BeTrue(), "%v", err)
	})
	return created
}

// securityGroup makes the security group of Service default/web.
func (s *services) securityGroup(ctx context.Context, cluster string) *groups.SecGroup {
	GinkgoHelper()
	created, err := groups.Create(ctx, s.network, groups.CreateOpts{
		Name:        "lb-sg-0b5ff1a5-default-web",
		Description: "Security Group for default/web Service LoadBalancer in cluster " + cluster,
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		err := groups.Delete(ctx, s.network, created.ID).ExtractErr()
		Expect(err == nil || gophercloud.ResponseCodeIs(err, 404)).To(BeTrue(), "%v", err)
	})
	return created
}
