// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// inNodes is the name of a CloudProfile whose vCenter has an address in the nodes of a Shoot of that name.
const inNodes = "in-nodes"

var _ = beforeWebhooks(func(ctx context.Context) {
	profile := read[gardencorev1beta1.CloudProfile](allPlatformsProfile)
	profile.Name = inNodes
	edit(&profile.Spec.ProviderConfig, func(config *v1alpha1.CloudProfileConfig) {
		config.Sites[vc].VSphere.Server = "https://10.250.200.9"
	})
	Expect(garden.Client.Create(ctx, profile)).To(Succeed())
	shoot := shootOf(allPlatforms)
	shoot.Name, shoot.Spec.CloudProfile.Name = inNodes, inNodes
	onMetal(func(c *v1alpha1.MetalInfrastructure) { c.NetworkDataTemplate = "$ADDRESS" })(shoot)
	create(ctx, shoot)
})

var _ = Describe("Shoots whose addresses and network data are older than the rules about them", func() {
	It("can be changed, but get no more of them", func(ctx SpecContext) {
		existing := func() *gardencorev1beta1.Shoot {
			shoot := shootOf(allPlatforms)
			shoot.Name = inNodes
			return current(ctx, shoot)
		}
		shoot := existing()
		shoot.Spec.Provider.Workers[batch].Maximum++
		onMetalLB(func(c *v1alpha1.MetalLB) { c.BGP.Peers[0].Port = 1179 })(shoot)
		Expect(garden.Client.Update(ctx, shoot, client.DryRunAll)).To(Succeed())

		shoot = existing()
		onMetal(func(c *v1alpha1.MetalInfrastructure) { c.NetworkDataTemplate = "[$ADDRESS]" })(shoot)
		refuseUpdate(ctx, shoot, infrastructure+".sites[2].metal.networkDataTemplate", "must be what inventory")
		shoot = existing()
		onMetalLB(func(c *v1alpha1.MetalLB) { c.AddressPools[0].CIDRs = []string{"10.250.250.0/25"} })(shoot)
		refuseUpdate(ctx, shoot, controlPlane+".sites[1].loadBalancer.metalLB.addressPools[0].cidrs[0]",
			`in use for load balancers at site "racks"`)
	})

	It("are refused if they are new, without a word about the other Shoot", func(ctx SpecContext) {
		shoot := newShoot(allPlatforms)
		onMetalLB(func(c *v1alpha1.MetalLB) { c.AddressPools[0].CIDRs = []string{"10.250.250.7-10.250.250.9"} })(shoot)
		err := garden.Client.Create(ctx, shoot, client.DryRunAll)
		expectDenied(err, controlPlane+".sites[1].loadBalancer.metalLB.addressPools[0].cidrs[0]", "choose other addresses")
		for _, secret := range []string{inNodes, everywhere, "10.250.250.0"} {
			Expect(err.Error()).NotTo(ContainSubstring(secret))
		}
	})
})
