// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Addresses", func() {
	It("are given to machines as long as there are some, and go back", func(ctx SpecContext) {
		pool := newPool(ctx, "10.20.7.10-10.20.7.12")
		o := newOwner()
		addresses := newAddresses(ctx, o)
		machine := func(n int) string { return fmt.Sprintf("%s-%d", o.Shoot, n) }

		var (
			group sync.WaitGroup
			given [3]ipam.Address
		)
		for n := range given {
			group.Go(func() {
				defer GinkgoRecover()
				var err error
				given[n], err = addresses.Ensure(ctx, machine(n), pool)
				Expect(err).NotTo(HaveOccurred())
			})
		}
		group.Wait()
		Expect(given[:]).To(ConsistOf(address("10.20.7.10/16"), address("10.20.7.11/16"), address("10.20.7.12/16")))
		Expect(newAddresses(ctx, o).Ensure(ctx, machine(1), pool)).To(Equal(given[1]))

		begun := time.Now()
		_, err := addresses.Ensure(ctx, machine(3), pool)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted), "%v", err)
		Expect(err).To(MatchError(fmt.Sprintf("GlobalInClusterIPPool %q has no free address: all 3 are in use", pool.Name)))
		Expect(time.Since(begun)).To(BeNumerically("<", 5*time.Second))
		Eventually(ctx, func() ([]string, error) { return addresses.Machines(ctx) }, soon).Should(ConsistOf(machine(0), machine(1), machine(2)))

		Expect(addresses.Release(ctx, machine(1))).To(Succeed())
		Eventually(ctx, func() (ipam.Address, error) { return addresses.Ensure(ctx, machine(3), pool) }, soon).Should(Equal(given[1]))
		Expect(newAddresses(ctx, newOwner()).Machines(ctx)).To(BeEmpty())
		for n := range 4 {
			Expect(addresses.Release(ctx, machine(n))).To(Succeed())
		}
		Eventually(ctx, func() ([]string, error) { return addresses.Machines(ctx) }, soon).Should(BeEmpty())
	}, SpecTimeout(2*time.Minute))

	It("are late while the allocator is, and wait for the next call", func(ctx SpecContext) {
		pool := newPool(ctx, "10.20.8.10")
		o := newOwner()
		addresses := newAddresses(ctx, o)
		landscape.IPAM.Pause()
		DeferCleanup(landscape.IPAM.Resume)
		_, err := addresses.Ensure(ctx, o.Shoot+"-1", pool)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(ContainSubstring("has not given an address to claim")))
		Expect(addresses.Machines(ctx)).To(ConsistOf(o.Shoot + "-1"))
		landscape.IPAM.Resume()
		Expect(addresses.Ensure(ctx, o.Shoot+"-1", pool)).To(Equal(address("10.20.8.10/16")))
		Expect(addresses.Release(ctx, o.Shoot+"-1")).To(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("do not come from pools that do not exist", func(ctx SpecContext) {
		o := newOwner()
		addresses := newAddresses(ctx, o)
		pool := newPool(ctx, "10.20.9.10")
		pool.Name = "nowhere"
		_, err := addresses.Ensure(ctx, o.Shoot+"-1", pool)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(MatchError(`GlobalInClusterIPPool "nowhere" does not exist`))
		Expect(addresses.Release(ctx, o.Shoot+"-1")).To(Succeed())

		pool.Kind = "Puddle"
		_, err = addresses.Ensure(ctx, o.Shoot+"-2", pool)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(addresses.Release(ctx, o.Shoot+"-2")).To(Succeed())
	}, SpecTimeout(2*time.Minute))

	It("are told to servers with Ignition", func(ctx SpecContext) {
		const rack = "ic-address"
		newServers(ctx, rack, 1, false)
		pool := newPool(ctx, "10.20.10.10")
		o := newOwner()
		machine := o.Shoot + "-1"
		i, addresses := newIronCore(ctx, o), newAddresses(ctx, o)
		DeferCleanup(release, i, machine)
		DeferCleanup(addresses.Release, machine)

		request := claimOf(machine, rack)
		request.Data = func(ctx context.Context, host *inventory.Host) (inventory.Data, error) {
			given, err := addresses.Ensure(ctx, machine, pool)
			network := fmt.Sprintf("[Match]\nMACAddress=%s\n[Network]\nAddress=%s\nGateway=%s\n", host.MACAddress, given.IP, given.Gateway)
			return inventory.Data{UserData: []byte(ironCoreTool), NodeName: "node-7", NetworkData: []byte(network)}, err
		}
		host, err := i.Claim(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Eventually(server(ctx, host.Name), soon).Should(HaveField("On", true))

		config := ignitionOf(ctx, machine)
		Expect(config).To(HaveKeyWithValue("/etc/hostname", "node-7\n"))
		Expect(config).To(HaveKeyWithValue("/etc/systemd/network/00-node.network",
			fmt.Sprintf("[Match]\nMACAddress=%s\n[Network]\nAddress=10.20.10.10/16\nGateway=10.20.0.1\n", host.MACAddress)))
		Expect(metal.NewWatch(landscape, o.Shoot).Active(ctx)).To(HaveKeyWithValue(machine, And(
			HaveField("NodeName", "node-7"), HaveField("ProviderID", host.ProviderID),
			HaveField("Addresses", ContainElement(corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.20.10.10"})))))
	}, SpecTimeout(2*time.Minute))
})

func newAddresses(ctx context.Context, o owner.Owner) *ipam.Addresses {
	GinkgoHelper()
	return ipam.New(newSession(ctx, v1alpha1.MetalInventoryIronCore).Client(), metal.Namespace, o)
}

// newPool makes a pool that no other spec uses.
func newPool(ctx context.Context, addresses string) corev1.TypedLocalObjectReference {
	GinkgoHelper()
	name := "pool-" + rand.String(5)
	Expect(landscape.MakePool(ctx, metal.Pool{Name: name, Addresses: []string{addresses}, Prefix: 16, Gateway: "10.20.0.1"})).To(Succeed())
	return corev1.TypedLocalObjectReference{APIGroup: new(ipam.Group), Kind: "GlobalInClusterIPPool", Name: name}
}

func address(prefix string) ipam.Address {
	return ipam.Address{IP: netip.MustParsePrefix(prefix), Gateway: netip.MustParseAddr("10.20.0.1")}
}
