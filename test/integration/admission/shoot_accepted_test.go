// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"sync"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Shoots are accepted", func() {
	DescribeTable("on all platforms", acceptNewShoot(allPlatforms),
		accepted("with an existing network and all that is in it", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) {
			reference := &v1alpha1.OpenStackReference{ID: someID}
			c.Network, c.Subnet, c.Router, c.SecurityGroup = &v1alpha1.OpenStackNetwork{ID: someID}, reference, reference, reference
			c.FloatingSubnet = nil
		})),
		accepted("with a floating subnet by ID", onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) {
			c.FloatingSubnet = &v1alpha1.OpenStackFloatingSubnet{ID: someID}
		})),
		accepted("without shares", func(shoot *gardencorev1beta1.Shoot) {
			onOpenStack(func(c *v1alpha1.OpenStackInfrastructure) { c.ShareNetwork = nil })(shoot)
			onControlPlane(func(c *v1alpha1.ControlPlaneConfig) { c.Sites[0].Storage = nil })(shoot)
		}),
		accepted("with a gateway, resolvers and an MTU of a site", onSite(vc, func(s *v1alpha1.InfrastructureSite) {
			s.Gateway, s.DNSServers, s.MTU = "10.250.0.2", []string{"192.0.2.1"}, new(int32(1500))
		})),
		accepted("with an MTU of all sites", onInfrastructure(func(c *v1alpha1.InfrastructureConfig) { c.Networks.MTU = new(int32(1400)) })),
		accepted("without an address pool", onMetal(func(c *v1alpha1.MetalInfrastructure) { c.IPAM, c.NetworkDataTemplate = nil, "" })),
		accepted("with OVN", onOctavia(func(c *v1alpha1.OpenStackLoadBalancerConfig) { c.Provider = "ovn" })),
		accepted("with members on all sites",
			onOctavia(func(c *v1alpha1.OpenStackLoadBalancerConfig) { c.Members = v1alpha1.LoadBalancerMembersAll })),
		accepted("with classes and feature gates", onControlPlane(func(c *v1alpha1.ControlPlaneConfig) {
			c.CloudControllerManager = &v1alpha1.CloudControllerManagerConfig{FeatureGates: map[string]bool{"AllAlpha": false}}
			c.Sites[0].LoadBalancer.OpenStack.Classes = []v1alpha1.OpenStackLoadBalancerClass{{Name: "internal", Purpose: "private",
				NetworkID: someID, SubnetID: someID}}
		})),
		accepted("with addresses of MetalLB at the vSphere site", onControlPlane(func(c *v1alpha1.ControlPlaneConfig) {
			c.Sites = append(c.Sites, v1alpha1.ControlPlaneSite{Name: "vc", LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
				AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"10.250.251.0/28"},
					Advertisement: v1alpha1.MetalLBAdvertisementL2, AutoAssign: new(false)}},
			}}})
		})),
		accepted("with settings of virtual machines",
			onVirtualMachines(v1alpha1.VSphereWorker{AntiAffinity: true, Tags: []string{"backup/daily"}})),
		accepted("with chosen hosts", onPoolSite(0, func(s *v1alpha1.WorkerSite) {
			s.Metal = &v1alpha1.MetalWorker{HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
		})),
		accepted("with a capacity of its own", onWorkerConfig(batch, func(c *v1alpha1.WorkerConfig) {
			c.NodeTemplate.Capacity = corev1.ResourceList{"cpu": resource.MustParse("7")}
		})),
		accepted("without limits of sites", onWorkerConfig(batch, func(c *v1alpha1.WorkerConfig) {
			for i := range c.Sites {
				c.Sites[i].Minimum, c.Sites[i].Maximum = nil, nil
			}
		})),
		accepted("with Calico and nothing said of it", pods("calico", `{}`)),
		accepted("with Calico and VXLAN", pods("calico", `{"vxlan":{"enabled":true},"vethMTU":"1400"}`)),
		accepted("with Calico and WireGuard", pods("calico", `{"wireguardEncryption":true}`)),
		accepted("with Cilium and Geneve", pods("cilium", `{"tunnel":"geneve","mtu":1450}`)),
		accepted("without the credentials of a site that it does not use", func(s *gardencorev1beta1.Shoot) {
			withoutSite(s)
			s.Spec.Provider.Workers = s.Spec.Provider.Workers[general:]
			s.Spec.CredentialsBindingName = new(lacking)
		}),
	)

	DescribeTable("on routed sites", acceptNewShoot(shootFile),
		accepted("with the nodes of one of them", func(s *gardencorev1beta1.Shoot) { s.Spec.Networking.Nodes = new("10.250.4.0/22") }),
		accepted("on one site without a default site", func(s *gardencorev1beta1.Shoot) {
			withoutSite(s)
			onControlPlane(func(c *v1alpha1.ControlPlaneConfig) { c.DefaultSite = "" })(s)
			s.Spec.Provider.Workers = s.Spec.Provider.Workers[1:]
		}),
		accepted("on one site with IP in IP", func(s *gardencorev1beta1.Shoot) {
			withoutSite(s)
			s.Spec.Provider.Workers = s.Spec.Provider.Workers[1:]
			pods("calico", `{"ipv4":{"mode":"Always"}}`)(s)
		}),
	)

	DescribeTable("that change", acceptChangedShoot(allPlatforms),
		accepted("the number of machines", onPool(general, func(w *gardencorev1beta1.Worker) { w.Maximum = 8 })),
		accepted("the zones", onPool(general, func(w *gardencorev1beta1.Worker) { w.Zones = []string{"vc-1"}; w.ProviderConfig = nil })),
		accepted("resolvers of a site", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.DNSServers = []string{"192.0.2.1"} })),
		accepted("the sites, without one that no pool uses any more", func(s *gardencorev1beta1.Shoot) {
			withoutSite(s)
			s.Spec.Provider.Workers = s.Spec.Provider.Workers[general:]
		}),
	)

	DescribeTable("although they were written when other rules applied", func(ctx SpecContext, change shootChange) {
		shoot := shootOf(allPlatforms)
		shoot.Name = outdated
		current(ctx, shoot)
		change(shoot)
		Expect(garden.Client.Update(ctx, shoot, client.DryRunAll)).To(Succeed())
	},
		accepted("and change their labels", func(s *gardencorev1beta1.Shoot) { s.Labels = map[string]string{"a": "b"} }),
		accepted("and change what is not of the provider", func(s *gardencorev1beta1.Shoot) {
			s.Spec.Maintenance.AutoUpdate.KubernetesVersion = !s.Spec.Maintenance.AutoUpdate.KubernetesVersion
		}),
		accepted("and change the number of machines of the pool", onPool(general, func(w *gardencorev1beta1.Worker) { w.Maximum = 8 })),
		accepted("and change another pool", onPool(batch, func(w *gardencorev1beta1.Worker) { w.Labels = map[string]string{"a": "b"} })),
		accepted("and change the node network", onSite(vc, func(s *v1alpha1.InfrastructureSite) { s.DNSServers = []string{"192.0.2.1"} })),
	)

	It("should delete such a Shoot", func(ctx SpecContext) {
		shoot := shootOf(allPlatforms)
		shoot.Name = outdated
		current(ctx, shoot)
		shoot.Annotations = map[string]string{"confirmation.gardener.cloud/deletion": "true"}
		Expect(garden.Client.Update(ctx, shoot)).To(Succeed())
		Expect(garden.Client.Delete(ctx, shoot, client.DryRunAll)).To(Succeed())
	})

	It("should warn of what is unwise", func(ctx SpecContext) {
		warned, said := newWarned()
		shoot := newShoot(allPlatforms)
		Expect(warned.Create(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(said.all()).To(ContainElement(ContainSubstring(`pool "general" has no priorities for its sites ["cloud" "vc"]`)))

		said.forget()
		shoot = current(ctx, shootOf(allPlatforms))
		withoutSite(shoot)
		shoot.Spec.Provider.Workers = shoot.Spec.Provider.Workers[general:]
		Expect(warned.Update(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(said.all()).To(ContainElement(ContainSubstring(`site "racks" is deleted when its last machine is gone`)))
	})
})

// sayings are the warnings of an API server.
type sayings struct {
	mutex sync.Mutex
	said  []string
}

// newWarned returns a client of the garden and what it is warned of.
func newWarned() (client.Client, *sayings) {
	GinkgoHelper()
	said := &sayings{}
	config := rest.CopyConfig(garden.Config)
	config.WarningHandlerWithContext = said
	warned, err := client.New(config, client.Options{Scheme: kubernetes.GardenScheme})
	Expect(err).NotTo(HaveOccurred())
	return warned, said
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (s *sayings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.said = append(s.said, text)
}

func (s *sayings) all() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string{}, s.said...)
}

func (s *sayings) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.said = nil
}
