// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

// asked records the Services that the library is asked for.
type asked struct {
	cloudprovider.LoadBalancer

	services map[string]*corev1.Service
}

func (a *asked) GetLoadBalancer(_ context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	a.services["get"] = service
	return nil, false, nil
}

func (a *asked) EnsureLoadBalancer(_ context.Context, _ string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus,
	error) {
	a.services["ensure"] = service
	return &corev1.LoadBalancerStatus{}, nil
}

func (a *asked) UpdateLoadBalancer(_ context.Context, _ string, service *corev1.Service, _ []*corev1.Node) error {
	a.services["update"] = service
	return nil
}

func (a *asked) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *corev1.Service) error {
	a.services["delete"] = service
	return nil
}

var _ = Describe("Load balancers", func() {
	const (
		loadBalancerID = "loadbalancer.openstack.org/load-balancer-id"
		shoot, cluster = "shoot--local--a", "shoot--local--b"
	)
	var (
		library  *asked
		b        *loadBalancers
		objects  map[string]string
		requests int
	)

	BeforeEach(func() {
		foreign := owner.Owner{Shoot: cluster, Site: "cloud"}.Description()
		objects = map[string]string{
			"/lbaas/loadbalancers/foreign": `{"loadbalancer": {"id": "foreign", "name": "kube_service_` + cluster + `_default_web"}}`,
			"/lbaas/loadbalancers/shared": `{"loadbalancer": {"id": "shared", "name": "given", "tags": ["kube_service_` + cluster +
				`_default_web"]}}`,
			"/lbaas/loadbalancers/exposure": `{"loadbalancer": {"id": "exposure", "name": "` + cluster + `-exposure", "description": "` +
				owner.Owner{Shoot: cluster, Site: "cloud"}.OfExposure().Description() + `"}}`,
			"/lbaas/loadbalancers/own": `{"loadbalancer": {"id": "own", "name": "kube_service_` + shoot +
				`_default_web", "tags": ["kube_service_` + shoot + `_default_web"]}}`,
			"/lbaas/loadbalancers/given": `{"loadbalancer": {"id": "given", "name": "given"}}`,
			"/ports/foreign":             `{"port": {"id": "foreign", "description": "` + foreign + `"}}`,
			"/networks/foreign":          `{"network": {"id": "foreign", "tags": ["gardener-shoot=` + cluster + `"]}}`,
			"/subnets/foreign":           `{"subnet": {"id": "foreign", "description": "` + foreign + `"}}`,
			"/ports/own": `{"port": {"id": "own", "description": "` +
				(owner.Owner{Shoot: shoot, Site: "other"}).Description() + `"}}`,
			"/subnets/given": `{"subnet": {"id": "given"}}`,
			"/floatingips 192.0.2.1": `{"floatingips": [{"id": "1", ` +
				`"description": "Floating IP for Kubernetes external service default/web from cluster ` + cluster + `"}]}`,
			"/floatingips 192.0.2.2": `{"floatingips": [{"id": "2", "description": "mine"}]}`,
			"/floatingips 192.0.2.3": `{"floatingips": []}`,
		}
		requests = 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Content-Type", "application/json")
			key := strings.TrimPrefix(r.URL.Path, "/v2.0")
			if address := r.URL.Query().Get("floating_ip_address"); address != "" {
				key += " " + address
			}
			body, ok := objects[key]
			if !ok {
				w.Header().Set("X-Openstack-Request-Id", "req-1")
				w.WriteHeader(http.StatusNotFound)
				body = `{"NeutronError": {"type": "NotFound", "message": "it could not be found", "detail": ""}, ` +
					`"faultcode": "Client", "faultstring": "not found"}`
			}
			_, _ = fmt.Fprint(w, body)
		}))
		DeferCleanup(s.Close)
		service := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: s.URL + "/"}
		library = &asked{services: map[string]*corev1.Service{}}
		b = &loadBalancers{LoadBalancer: library, owner: owner.Owner{Shoot: shoot, Site: "cloud"}, config: &v1alpha1.OpenStackLoadBalancer{},
			balancing: service, network: service}
	})

	serviceWith := func(name, value string) *corev1.Service {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		if name == "spec.loadBalancerIP" {
			service.Spec.LoadBalancerIP = value
		} else if name != "" {
			service.Annotations = map[string]string{"loadbalancer.openstack.org/" + name: value, "other": "x"}
		}
		return service
	}

	DescribeTable("should not be made or changed with what is another shoot's",
		func(ctx SpecContext, name, value, field string) {
			service := serviceWith(name, value)
			_, ensure := b.EnsureLoadBalancer(ctx, shoot, service, nil)
			update := b.UpdateLoadBalancer(ctx, shoot, service, nil)
			for _, err := range []error{ensure, update} {
				Expect(err).To(MatchError(fmt.Sprintf("%s: %q was not made for this shoot and cannot be used", field, value)))
				Expect(err.Error()).NotTo(ContainSubstring(cluster))
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
			}
			Expect(library.services).To(BeEmpty())
		},
		Entry("a load balancer", "load-balancer-id", "foreign", "metadata.annotations[loadbalancer.openstack.org/load-balancer-id]"),
		Entry("a load balancer that another shoot shares", "load-balancer-id", "shared",
			"metadata.annotations[loadbalancer.openstack.org/load-balancer-id]"),
		Entry("a load balancer of another shoot's API servers", "load-balancer-id", "exposure",
			"metadata.annotations[loadbalancer.openstack.org/load-balancer-id]"),
		Entry("a port", "port-id", "foreign", "metadata.annotations[loadbalancer.openstack.org/port-id]"),
		Entry("a network", "network-id", "foreign", "metadata.annotations[loadbalancer.openstack.org/network-id]"),
		Entry("a subnet", "subnet-id", "foreign", "metadata.annotations[loadbalancer.openstack.org/subnet-id]"),
		Entry("a subnet of members", "member-subnet-id", "foreign", "metadata.annotations[loadbalancer.openstack.org/member-subnet-id]"),
		Entry("a floating IP", "spec.loadBalancerIP", "192.0.2.1", "spec.loadBalancerIP"),
	)

	DescribeTable("should have their addresses where the CloudProfile allows it",
		func(ctx SpecContext, allowed []string, id string, ok bool) {
			b.config = &v1alpha1.OpenStackLoadBalancer{
				FloatingNetworkID: "router", FloatingNetworks: allowed, Classes: []v1alpha1.OpenStackLoadBalancerClass{{FloatingNetworkID: "class"}},
			}
			_, err := b.EnsureLoadBalancer(ctx, shoot, serviceWith("floating-network-id", id), nil)
			if ok {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(`metadata.annotations[loadbalancer.openstack.org/floating-network-id]: the CloudProfile does not allow "` +
				id + `"`))
			Expect(library.services).To(BeEmpty())
		},
		Entry("anywhere without a list", nil, "any", true),
		Entry("where the list says", []string{"listed"}, "listed", true),
		Entry("where the router has its own", []string{}, "router", true),
		Entry("where a class has it", []string{}, "class", true),
		Entry("but nowhere else", []string{"listed"}, "any", false),
	)

	DescribeTable("should be made with anything else",
		func(ctx SpecContext, name, value string, cost int) {
			_, err := b.EnsureLoadBalancer(ctx, shoot, serviceWith(name, value), nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(library.services).To(HaveKey("ensure"))
			Expect(requests).To(Equal(cost))
		},
		Entry("nothing", "", "", 0),
		Entry("its own load balancer", "load-balancer-id", "own", 1),
		Entry("one that nobody marked", "load-balancer-id", "given", 1),
		Entry("one that does not exist, of which the library tells", "load-balancer-id", "gone", 1),
		Entry("a port of the shoot", "port-id", "own", 1),
		Entry("a subnet that nobody marked", "subnet-id", "given", 1),
		Entry("a floating IP that nobody marked", "spec.loadBalancerIP", "192.0.2.2", 1),
		Entry("a floating IP that does not exist yet", "spec.loadBalancerIP", "192.0.2.3", 1),
	)

	DescribeTable("should be looked for by the name of the Service in the end, and not be another shoot's",
		func(ctx SpecContext, id string, kept bool) {
			service := serviceWith("load-balancer-id", id)
			Expect(b.EnsureLoadBalancerDeleted(ctx, shoot, service)).To(Succeed())
			_, _, err := b.GetLoadBalancer(ctx, shoot, service)
			Expect(err).NotTo(HaveOccurred())
			for _, request := range []string{"get", "delete"} {
				Expect(library.services[request].Annotations).To(HaveKey("other"))
				if kept {
					Expect(library.services[request].Annotations).To(HaveKeyWithValue(loadBalancerID, id))
				} else {
					Expect(library.services[request].Annotations).NotTo(HaveKey(loadBalancerID))
				}
			}
			Expect(service.Annotations).To(HaveKey(loadBalancerID), "the Service is a cache's")
		},
		Entry("another shoot's", "foreign", false),
		Entry("one that another shoot shares", "shared", false),
		Entry("its own", "own", true),
		Entry("a given one", "given", true),
	)

	It("should touch nothing if the site cannot be asked", func(ctx SpecContext) {
		service := serviceWith("load-balancer-id", "own")
		for _, answer := range []string{"{", "{}", "null"} {
			objects["/lbaas/loadbalancers/own"] = answer
			_, err := b.EnsureLoadBalancer(ctx, shoot, service, nil)
			Expect(err).To(HaveOccurred())
			Expect(b.EnsureLoadBalancerDeleted(ctx, shoot, service)).NotTo(Succeed())
			Expect(library.services).To(BeEmpty())
		}
	})
})
