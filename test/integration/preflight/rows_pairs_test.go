// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// betweenRows are what is wrong between sites, or between a site and the seed.
// rolesOfInventories are the roles of the account in example/metal/inventory-rbac.yaml.
var rolesOfInventories = []string{"provider-hybrid-metal3", "provider-hybrid-ironcore", "provider-hybrid-static"}

var betweenRows = []row{
	{wrong: "the given subnet of a site overlaps with the nodes of another",
		id: "openstack-subnet", states: []string{warning}, field: `subnet|nodes`, documents: useSubnet,
		make: func(ctx SpecContext) string { return makeNetworkOf(ctx, subnets.CreateOpts{CIDR: "10.250.0.0/20"}) }},
	{wrong: "the addresses of load balancers are in the address pool of machines",
		id: "metal-load-balancer-addresses", field: `addressPools`, states: []string{warning}, documents: func(d *documents, _ string) {
			d.control.Sites = append(d.control.Sites, v1alpha1.ControlPlaneSite{Name: racksSite, LoadBalancer: &v1alpha1.SiteLoadBalancer{
				MetalLB: &v1alpha1.MetalLB{AddressPools: []v1alpha1.MetalLBAddressPool{
					{Name: "nodes", CIDRs: []string{"10.250.8.32/28"}, Advertisement: "L2"},
				}}}})
		}},
	{wrong: "the nodes of a site overlap with the network of the seed", id: "site-range-seed",
		field: `nodes`, states: []string{failed, warning},
		documents: func(d *documents, _ string) { d.seed = seedWith(d, "10.250.4.0/24") }},
	{wrong: "the clock of OpenStack is half an hour slow", id: "site-clock",
		field: `sites|server|authURL`, states: []string{failed, warning}, also: "clock",
		documents: unchanged, make: func(SpecContext) string {
			for _, service := range openstack.Services() {
				bed.Cloud.SetSkew(service.Name, -halfAnHour)
				DeferCleanup(func() { bed.Cloud.SetSkew(service.Name, 0) })
			}
			return ""
		}},
	{wrong: "the clock of a vCenter is half an hour fast", id: "site-clock",
		field: `sites|server|authURL`, states: []string{failed, warning}, also: "clock",
		documents: unchanged, make: func(SpecContext) string {
			bed.Others.SetSkew(sitefaults.VCenterService, halfAnHour)
			DeferCleanup(func() { bed.Others.SetSkew(sitefaults.VCenterService, 0) })
			return ""
		}},
	{wrong: "the clock of an inventory is half an hour fast", id: "site-clock",
		field: `sites|server|authURL`, states: []string{failed, warning}, also: "clock",
		documents: unchanged, make: func(SpecContext) string {
			bed.Others.SetSkew(sitefaults.InventoryService, halfAnHour)
			DeferCleanup(func() { bed.Others.SetSkew(sitefaults.InventoryService, 0) })
			return ""
		}},
	{wrong: "two sites are the same inventory with the same hosts", id: "pair-place",
		field: `sites|zones|hostSelector|namespace`, states: []string{failed, warning},
		also: anything, documents: func(d *documents, _ string) {
			*d.site(hallSite).Metal = *d.site(racksSite).Metal
			d.zone(hallSite).Metal.HostSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"rack": "r1"}}
			d.image(0, hallSite).Metal = d.image(0, racksSite).Metal
			d.image(1, hallSite).Metal = d.image(1, racksSite).Metal
			d.site(hallSite).StorageClasses = nil
		}},
	{wrong: "Secrets may not be made in the inventory of two sites", id: "metal-permissions",
		field: `token|credentials|secret|metal|sites`, documents: unchanged,
		make: withoutVerb("", "secrets", "create", rolesOfInventories...)},
	{wrong: "the shoot may not be used, as the admission policies of the inventory ask",
		id: "metal-permissions", field: `\.token\]$`, states: []string{warning}, documents: unchanged,
		make: withoutVerb("hybrid.provider.extensions.gardener.cloud", "shoots", "use", rolesOfInventories...)},
	{wrong: "two sites use one address pool with addresses of one of them", id: "metal-address-pool",
		field: `ipam|poolRef`, documents: func(d *documents, _ string) {
			d.network(hallSite).Metal = d.network(racksSite).Metal
		}},
}

func unchanged(*documents, string) {}

// seedWith is a seed whose nodes have a range.
func seedWith(d *documents, nodes string) *gardencorev1beta1.Seed {
	d.shoot.Spec.SeedName = new("seed")
	return &gardencorev1beta1.Seed{
		TypeMeta:   metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: "Seed"},
		ObjectMeta: metav1.ObjectMeta{Name: "seed"},
		Spec: gardencorev1beta1.SeedSpec{
			Provider: gardencorev1beta1.SeedProvider{Type: "local", Region: "local"},
			Networks: gardencorev1beta1.SeedNetworks{Nodes: &nodes, Pods: "10.0.0.0/16", Services: "10.1.0.0/16"},
		},
	}
}
