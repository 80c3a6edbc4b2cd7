// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Warnings", func() {
	var (
		g    *garden
		seed *gardencorev1beta1.Seed
	)

	BeforeEach(func() {
		g = newGarden()
		seed = &gardencorev1beta1.Seed{
			ObjectMeta: metav1.ObjectMeta{Name: "s"},
			Spec: gardencorev1beta1.SeedSpec{Networks: gardencorev1beta1.SeedNetworks{
				Nodes: new("198.51.100.0/24"), Pods: "172.16.0.0/16", Services: "172.17.0.0/16",
			}},
		}
		g.others = []client.Object{seed}
		g.shoot.Spec.SeedName = new("s")
	})

	// answer is that of a handler which asks the validator of Shoots.
	answer := func(ctx context.Context, old *gardencorev1beta1.Shoot) admission.Response {
		var before client.Object
		if old != nil {
			before = old
		}
		return WithWarnings(admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
			if err := NewShootValidatorFor(g.cache(), g.secrets()).Validate(ctx, g.shoot, before); err != nil {
				return admission.Denied(err.Error())
			}
			return admission.Allowed("").WithWarnings("first")
		})).Handle(ctx, admission.Request{})
	}
	warnings := func(ctx context.Context, old *gardencorev1beta1.Shoot) []string {
		GinkgoHelper()
		response := answer(ctx, old)
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(response.Warnings).NotTo(BeEmpty())
		Expect(response.Warnings[0]).To(Equal("first"))
		return response.Warnings[1:]
	}

	It("are none for what is wise", func(ctx SpecContext) {
		editWorker(g.shoot, general, func(c *v1alpha1.WorkerConfig) {
			c.Sites = []v1alpha1.WorkerSite{{Name: "cloud", Priority: new(int32(2))}, {Name: "vc", Priority: new(int32(1))}}
		})
		Expect(warnings(ctx, nil)).To(BeEmpty())
		Expect(warnings(ctx, g.shoot.DeepCopy())).To(BeEmpty())
	})

	DescribeTable("of", func(ctx SpecContext, change func(), expected string) {
		g.shoot.Spec.Provider.Workers[general].Maximum = g.shoot.Spec.Provider.Workers[general].Minimum
		Expect(warnings(ctx, nil)).To(BeEmpty())
		change()
		Expect(warnings(ctx, nil)).To(ConsistOf(expected))
	},
		Entry("system components on one site", func() {
			g.shoot.Spec.Provider.Workers[batch].SystemComponents = &gardencorev1beta1.WorkerSystemComponents{Allow: false}
			g.shoot.Spec.Provider.Workers[general].Zones, g.shoot.Spec.Provider.Workers[general].ProviderConfig = []string{"vc-1"}, nil
		}, `spec.provider.workers: all pools for system components are on site "vc": an outage of the site affects the whole shoot`),
		Entry("no default storage", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].StorageClasses = nil })
		}, `spec.provider.controlPlaneConfig.defaultSite: the CloudProfile has no storage classes for site "cloud", so the shoot has no `+
			`default storage class`),
		Entry("a burst pool without priorities", func() {
			g.shoot.Spec.Provider.Workers[general].Maximum++
		}, `spec.provider.workers[1].providerConfig.sites: pool "general" has no priorities for its sites ["cloud" "vc"], so the autoscaler `+
			`may use any of them`),
		Entry("a pool whose sites can have more machines than it", func() {
			pool := &g.shoot.Spec.Provider.Workers[general]
			pool.Minimum, pool.Maximum = 2, 8
			editWorker(g.shoot, general, func(c *v1alpha1.WorkerConfig) {
				c.Sites = []v1alpha1.WorkerSite{
					{Name: "cloud", Priority: new(int32(2)), Minimum: new(int32(2)), Maximum: new(int32(6))},
					{Name: "vc", Priority: new(int32(1)), Minimum: new(int32(0)), Maximum: new(int32(6))},
				}
			})
		}, `spec.provider.workers[1].maximum: pool "general" can have up to 12 machines, not 8: the maxima of its sites in `+
			`providerConfig.sites are decisive`),
		Entry("pools that can have more machines on a site than the operator allows", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].MaximumMachines = new(int32(40)) })
			editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) { c.Sites[cloud].MaximumMachines = nil })
		}, `spec.provider.infrastructureConfig.sites[0].maximumMachines: the pools can have up to 41 machines on site "cloud" together, and its `+
			`maximum is 40: more are refused`),
		Entry("pools that need more machines on a site than the owner allows", func() {
			editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) { c.Sites[cloud].MaximumMachines = new(int32(0)) })
		}, `spec.provider.infrastructureConfig.sites[0].maximumMachines: the pools need at least 1 machines on site "cloud", and its `+
			`maximum is 0: the others are never created`),
		Entry("a volume of a pool that is only on bare metal", func() {
			pool := &g.shoot.Spec.Provider.Workers[batch]
			pool.Zones, pool.ProviderConfig = []string{"rack-1"}, nil
			pool.Volume = &gardencorev1beta1.Volume{VolumeSize: "50Gi"}
		}, `spec.provider.workers[0].volume.size: has no effect: site "racks" does not support volumes: its hosts have their own disks`),
		Entry("an OpenStack site in the seed's networks", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].OpenStack.AuthURL = "https://172.16.1.1:5000/v3" })
		}, `spec.provider.infrastructureConfig.sites[0].name: the API of site "cloud" is at 172.16.1.1, which is in spec.networks.pods of Seed `+
			`"s": it may be unreachable from the seed`),
		Entry("a vSphere site in the seed's networks", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[vc].VSphere.Server = "https://172.17.1.1" })
		}, `spec.provider.infrastructureConfig.sites[1].name: the API of site "vc" is at 172.17.1.1, which is in spec.networks.services of `+
			`Seed "s": it may be unreachable from the seed`),
		Entry("a bare-metal site in the seed's networks", func() {
			editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[racks].Metal.Server = "https://198.51.100.7:6443" })
		}, `spec.provider.infrastructureConfig.sites[2].name: the API of site "racks" is at 198.51.100.7, which is in spec.networks.nodes of `+
			`Seed "s": it may be unreachable from the seed`),
	)

	It("tells that a removed site needs its credentials", func(ctx SpecContext) {
		old := g.shoot.DeepCopy()
		g.shoot.Spec.Provider.Workers = g.shoot.Spec.Provider.Workers[:1]
		editInfrastructure(g.shoot, func(c *v1alpha1.InfrastructureConfig) {
			c.Sites = []v1alpha1.InfrastructureSite{c.Sites[cloud], c.Sites[racks]}
		})
		Expect(warnings(ctx,
			old)).To(ConsistOf(`spec.provider.infrastructureConfig.sites: site "vc" is deleted when its last machine is gone: keep its ` +
			`credentials in the Secret until then`))
	})

	// profileAnswer is that of a handler which asks the validator of CloudProfiles about a newer version of the image.
	profileAnswer := func(ctx context.Context, changeVersion func(*gardencorev1beta1.MachineImageVersion),
		changeFlavor func(*v1alpha1.MachineImageFlavor)) admission.Response {
		GinkgoHelper()
		image := &g.profile.Spec.MachineImages[0]
		added := image.Versions[0].DeepCopy()
		added.Version = "1877.10.0"
		changeVersion(added)
		image.Versions = append(image.Versions, *added)
		editProfile(g, func(c *v1alpha1.CloudProfileConfig) {
			image := &c.MachineImages[0]
			version := image.Versions[0].DeepCopy()
			version.Version = added.Version
			changeFlavor(&version.CapabilityFlavors[0])
			image.Versions = append(image.Versions, *version)
		})
		return WithWarnings(admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
			if err := NewCloudProfileValidator(newManager()).Validate(ctx, g.profile, nil); err != nil {
				return admission.Denied(err.Error())
			}
			return admission.Allowed("")
		})).Handle(ctx, admission.Request{})
	}
	as := func(classification gardencorev1beta1.VersionClassification) func(*gardencorev1beta1.MachineImageVersion) {
		return func(version *gardencorev1beta1.MachineImageVersion) {
			version.Lifecycle = []gardencorev1beta1.LifecycleStage{{Classification: classification}}
		}
	}
	unclassified := func(*gardencorev1beta1.MachineImageVersion) {}
	onlyOn := func(sites ...int) func(*v1alpha1.MachineImageFlavor) {
		return func(flavor *v1alpha1.MachineImageFlavor) {
			all := flavor.Sites
			flavor.Sites = nil
			for _, site := range sites {
				flavor.Sites = append(flavor.Sites, all[site])
			}
		}
	}

	DescribeTable("of a newer version of an image",
		func(ctx SpecContext, changeVersion func(*gardencorev1beta1.MachineImageVersion), changeFlavor func(*v1alpha1.MachineImageFlavor),
			sites string) {
			response := profileAnswer(ctx, changeVersion, changeFlavor)
			Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
			if sites == "" {
				Expect(response.Warnings).To(BeEmpty())
				return
			}
			Expect(response.Warnings).To(ConsistOf("spec.providerConfig.machineImages[0].versions[1]: gardenlinux 1877.10.0 is not on the sites " +
				"[" + sites +
				"], which have older versions: Gardener's maintenance fails for Shoots with pools there; classify it as preview until all sites have " +
				"it"))
		},
		Entry("on all sites", unclassified, onlyOn(cloud, vc, racks), ""),
		Entry("that one site does not have", unclassified, onlyOn(cloud, racks), `"vc"`),
		Entry("that is supported and that two sites do not have", as(gardencorev1beta1.ClassificationSupported), onlyOn(cloud), `"racks" "vc"`),
		Entry("in preview", as(gardencorev1beta1.ClassificationPreview), onlyOn(cloud), ""),
		Entry("that is deprecated", as(gardencorev1beta1.ClassificationDeprecated), onlyOn(cloud), ""),
		Entry("that is expired", as(gardencorev1beta1.ClassificationExpired), onlyOn(cloud), ""),
		Entry("that is older", func(version *gardencorev1beta1.MachineImageVersion) { version.Version = "1877.2.9" }, onlyOn(cloud), ""),
		Entry("for other machines", func(version *gardencorev1beta1.MachineImageVersion) {
			version.CapabilityFlavors[0].Capabilities = gardencorev1beta1.Capabilities{"architecture": {"arm64"}}
		}, func(flavor *v1alpha1.MachineImageFlavor) {
			onlyOn(cloud)(flavor)
			flavor.Capabilities = map[string][]string{"architecture": {"arm64"}}
		}, ""),
	)

	It("of an address of a site that the control planes of Shoots cannot reach from now on", func(ctx SpecContext) {
		old := g.profile.DeepCopy()
		other := g.shoot.DeepCopy()
		other.Name, other.Spec.CloudProfile = "elsewhere", &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "other"}
		editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[vc].VSphere.Server = "https://10.250.200.9" })
		review := func(old *gardencorev1beta1.CloudProfile) admission.Response {
			return WithWarnings(admission.HandlerFunc(func(ctx context.Context, _ admission.Request) admission.Response {
				if err := NewCloudProfileValidator(newManager(g.shoot, other)).Validate(ctx, g.profile, old); err != nil {
					return admission.Denied(err.Error())
				}
				return admission.Allowed("")
			})).Handle(ctx, admission.Request{})
		}
		response := review(old)
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(response.Warnings).To(ConsistOf(`spec.providerConfig.sites[1]: the API of site "vc" is at 10.250.200.9, which is in node, pod ` +
			`or service ranges of Shoots, whose control planes cannot reach it: ` + client.ObjectKeyFromObject(g.shoot).String()))

		old = g.profile.DeepCopy()
		editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[vc].DNSServers = []string{"192.0.2.53"} })
		Expect(review(old)).To(And(HaveField("Allowed", BeTrue()), HaveField("Warnings", BeEmpty())))
	})

	It("are not given for a CloudProfile that is refused", func(ctx SpecContext) {
		response := profileAnswer(ctx, unclassified, func(flavor *v1alpha1.MachineImageFlavor) {
			onlyOn(cloud)(flavor)
			flavor.Sites[0].OpenStack.ImageID = ""
		})
		Expect(response.Allowed).To(BeFalse())
		Expect(response.Warnings).To(BeEmpty())
	})

	It("are not given if the seed cannot be read, and for what is refused", func(ctx SpecContext) {
		editProfile(g, func(c *v1alpha1.CloudProfileConfig) { c.Sites[cloud].OpenStack.AuthURL = "https://172.16.1.1:5000/v3" })
		g.shoot.Spec.SeedName = new("other")
		Expect(warnings(ctx, nil)).To(ConsistOf(ContainSubstring(`pool "general"`)))
		g.shoot.Spec.Provider.InfrastructureConfig = broken()
		response := answer(ctx, nil)
		Expect(response.Allowed).To(BeFalse())
		Expect(response.Warnings).To(BeEmpty())
	})
})
