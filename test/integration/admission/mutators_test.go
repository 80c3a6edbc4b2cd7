// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

const overlayOn = `{"apiVersion":"cilium.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig","overlay":{"enabled":true}}`

// withoutOverlay is the name of a Shoot that was created before the webhooks existed.
const withoutOverlay = "earlier"

var _ = beforeWebhooks(func(ctx context.Context) {
	shoot := shootOf(shootFile)
	shoot.Name = withoutOverlay
	Expect(garden.Client.Create(ctx, shoot)).To(Succeed())
})

// nodesOf returns the ranges of a Shoot's sites.
func nodesOf(shoot *gardencorev1beta1.Shoot) map[string][]string {
	GinkgoHelper()
	config, err := codec.Decode[v1alpha1.InfrastructureConfig](shoot.Spec.Provider.InfrastructureConfig)
	Expect(err).NotTo(HaveOccurred())
	nodes := map[string][]string{}
	for _, site := range config.Sites {
		nodes[site.Name] = site.Nodes
	}
	return nodes
}

// withoutRanges takes the ranges of all sites off, and with whole those of the network and of the Shoot, too.
func withoutRanges(shoot *gardencorev1beta1.Shoot, whole bool) {
	GinkgoHelper()
	edit(&shoot.Spec.Provider.InfrastructureConfig, func(config *v1alpha1.InfrastructureConfig) {
		for i := range config.Sites {
			config.Sites[i].Nodes = nil
		}
		if whole {
			config.Networks.Nodes = nil
		}
	})
}

var _ = Describe("Shoots are completed", func() {
	var quarters = map[string][]string{"cloud": {"10.250.0.0/18"}, "vc": {"10.250.64.0/18"}, "racks": {"10.250.128.0/18"}}

	It("should switch the overlay on, whichever network it is", func(ctx SpecContext) {
		shoot := newShoot(allPlatforms)
		shoot.Spec.Networking.Type = new("calico")
		shoot.Spec.Networking.ProviderConfig = nil
		Expect(garden.Client.Create(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(shoot.Spec.Networking.ProviderConfig.Raw).To(MatchJSON(
			`{"apiVersion":"calico.networking.extensions.gardener.cloud/v1alpha1","kind":"NetworkConfig",
				"vxlan":{"enabled":true},"overlay":{"enabled":true}}`))

		shoot = newShoot(allPlatforms)
		Expect(garden.Client.Create(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(shoot.Spec.Networking.ProviderConfig.Raw).To(MatchJSON(overlayOn))
	})

	It("should change an older Shoot when its specification changes, and not before", func(ctx SpecContext) {
		shoot := shootOf(shootFile)
		shoot.Name = withoutOverlay
		current(ctx, shoot)
		Expect(shoot.Spec.Networking.ProviderConfig).To(BeNil())

		shoot.Annotations = map[string]string{"a": "b"}
		Expect(garden.Client.Update(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(shoot.Spec.Networking.ProviderConfig).To(BeNil())

		shoot.Spec.Provider.Workers[0].Maximum++
		Expect(garden.Client.Update(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(shoot.Spec.Networking.ProviderConfig.Raw).To(MatchJSON(overlayOn))
	})

	It("should set the priority that switches Gardener's priority expander on, and the limits that are known", func(ctx SpecContext) {
		shoot := newShoot(allPlatforms)
		shoot.Spec.Provider.Workers[0].Priority = nil
		edit(&shoot.Spec.Provider.Workers[0].ProviderConfig, func(config *v1alpha1.WorkerConfig) {
			config.Sites[1].Minimum, config.Sites[1].Maximum = nil, nil
		})
		Expect(garden.Client.Create(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(shoot.Spec.Provider.Workers[0].Priority).To(HaveValue(BeZero()))
		config, err := codec.Decode[v1alpha1.WorkerConfig](shoot.Spec.Provider.Workers[0].ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites[1]).To(And(HaveField("Minimum", HaveValue(BeEquivalentTo(0))), HaveField("Maximum", HaveValue(BeEquivalentTo(70)))))
	})

	It("should divide the node network, keep off load balancers, and give everything back when a manifest is applied again",
		func(ctx SpecContext) {
			shoot := newShoot(allPlatforms)
			shoot.Name = "divided"
			onMetalLB(func(c *v1alpha1.MetalLB) {
				c.AddressPools[0].CIDRs, c.AddressPools[1].CIDRs = []string{"10.250.248.0/24"}, []string{"192.0.2.48-192.0.2.63"}
			})(shoot)
			withoutRanges(shoot, false)
			shoot.Spec.Networking.Nodes = nil
			manifest := shoot.DeepCopy()
			Expect(garden.Client.Create(ctx, shoot)).To(Succeed())
			Expect(shoot.Spec.Networking.Nodes).To(HaveValue(Equal("10.250.0.0/16")))
			Expect(nodesOf(shoot)).To(Equal(quarters))

			shoot.Spec.Provider.InfrastructureConfig = manifest.Spec.Provider.InfrastructureConfig
			withoutRanges(shoot, true)
			Expect(garden.Client.Update(ctx, shoot)).To(Succeed())
			Expect(nodesOf(shoot)).To(Equal(quarters))
		})

	It("should keep the ranges of sites when one is removed and another one is added", func(ctx SpecContext) {
		shoot := newShoot(allPlatforms)
		shoot.Name = "moving"
		shoot.Spec.Provider.ControlPlaneConfig = &runtime.RawExtension{Raw: []byte(
			`{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"ControlPlaneConfig","defaultSite":"cloud"}`)}
		shoot.Spec.Provider.Workers = shoot.Spec.Provider.Workers[1:] // on cloud and vc
		withoutRanges(shoot, false)
		all := shoot.Spec.Provider.InfrastructureConfig.DeepCopy()
		edit(&shoot.Spec.Provider.InfrastructureConfig, func(config *v1alpha1.InfrastructureConfig) {
			config.Sites = config.Sites[:2]
		})
		Expect(garden.Client.Create(ctx, shoot)).To(Succeed())
		Expect(nodesOf(shoot)).To(Equal(map[string][]string{"cloud": quarters["cloud"], "vc": quarters["vc"]}))

		edit(&all, func(config *v1alpha1.InfrastructureConfig) {
			config.Sites[0], config.Sites[2] = config.Sites[2], config.Sites[0]
		})
		settle(ctx, shoot.Name, func(status *gardencorev1beta1.ShootStatus) {
			status.Conditions[1].Status = gardencorev1beta1.ConditionProgressing
		})
		shoot = current(ctx, shoot)
		shoot.Spec.Provider.InfrastructureConfig = all.DeepCopy()
		refuseUpdate(ctx, shoot, "spec.provider.infrastructureConfig.sites[0].nodes",
			`must be set for site "racks": the Shoot may still have nodes of a removed site in networks.nodes: `+
				`its condition EveryNodeReady is not True`)

		settle(ctx, shoot.Name, func(*gardencorev1beta1.ShootStatus) {})
		shoot = current(ctx, shoot)
		shoot.Spec.Provider.InfrastructureConfig = all
		Expect(garden.Client.Update(ctx, shoot, client.DryRunAll)).To(Succeed())
		Expect(nodesOf(shoot)).To(Equal(quarters))
	})

	DescribeTable("as far as there is room", refuseNewShoot(allPlatforms),
		refused("a node network that load balancers take", func(shoot *gardencorev1beta1.Shoot) {
			withoutRanges(shoot, false)
			edit(&shoot.Spec.Provider.ControlPlaneConfig, func(config *v1alpha1.ControlPlaneConfig) {
				config.Sites[1].LoadBalancer.MetalLB.AddressPools[0].CIDRs = []string{"10.250.0.0/16"}
			})
		}, "spec.provider.infrastructureConfig.sites[0].nodes",
			`networks.nodes 10.250.0.0/16 has no free range of /24 or larger for site "cloud"`),
		refused("a node network that other sites take", func(shoot *gardencorev1beta1.Shoot) {
			edit(&shoot.Spec.Provider.InfrastructureConfig, func(config *v1alpha1.InfrastructureConfig) {
				config.Sites[0].Nodes, config.Sites[1].Nodes, config.Sites[2].Nodes = []string{"10.250.0.0/17"}, []string{"10.250.128.0/17"}, nil
			})
		}, "spec.provider.infrastructureConfig.sites[2].nodes", `has no free range of /24 or larger for site "racks"`),
	)
})

var _ = Describe("NamespacedCloudProfiles are merged", func() {
	It("should add what is their own to the parent's", func(ctx SpecContext) {
		profile := &gardencorev1beta1.NamespacedCloudProfile{
			ObjectMeta: metav1.ObjectMeta{Name: "merged", Namespace: gardenapi.Namespace},
			Spec: gardencorev1beta1.NamespacedCloudProfileSpec{
				Parent: gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "hybrid"},
				MachineImages: []gardencorev1beta1.MachineImage{{Name: "gardenlinux", Versions: []gardencorev1beta1.MachineImageVersion{{
					ExpirableVersion:  gardencorev1beta1.ExpirableVersion{Version: "1900.0.0"},
					CRI:               []gardencorev1beta1.CRI{{Name: gardencorev1beta1.CRINameContainerD}},
					Architectures:     []string{"amd64"},
					CapabilityFlavors: []gardencorev1beta1.MachineImageFlavor{{Capabilities: gardencorev1beta1.Capabilities{"architecture": {"amd64"}}}},
				}}}},
				ProviderConfig: &runtime.RawExtension{Raw: []byte(`{
					"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"CloudProfileConfig",
					"machineImages":[{"name":"gardenlinux","versions":[{"version":"1900.0.0","capabilityFlavors":[{
					"capabilities":{"architecture":["amd64"]},
					"sites":[{"name":"cloud","openstack":{"imageName":"own"}},{"name":"cloud2","openstack":{"imageName":"own"}}]}]}]}]}`)},
			},
		}
		Expect(garden.Client.Create(ctx, profile)).To(Succeed())

		// What Gardener's controller writes.
		parent := read[gardencorev1beta1.CloudProfile](profileFile)
		profile.Status.CloudProfileSpec = parent.Spec
		profile.Status.ObservedGeneration = profile.Generation
		Expect(garden.Client.Status().Update(ctx, profile)).To(Succeed())

		config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Status.CloudProfileSpec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Sites).To(HaveLen(2))
		Expect(config.MachineImages).To(ConsistOf(HaveField("Versions", HaveExactElements(
			HaveField("Version", "1877.3.0"), HaveField("Version", "1877.4.0"), HaveField("Version", "1900.0.0")))))
	})
})
