// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Servers", Ordered, func() {
	var recycled, retained []string

	serverOf := func(ctx context.Context, name string) func(Gomega) metal.Host {
		return func(g Gomega) metal.Host {
			servers, err := inventory.Servers(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			return servers[name]
		}
	}
	// claim makes a claim of a server in a rack.
	claim := func(ctx context.Context, name, rack, ignition string) {
		GinkgoHelper()
		makeSecret(ctx, name, "ignition", ignition)
		o := newObject("metal.ironcore.dev/v1alpha1", "ServerClaim", metal.Namespace, name)
		o.Object["spec"] = map[string]any{
			"power": "On", "image": "ghcr.io/os:1", "ignitionSecretRef": map[string]any{"name": name},
			"serverSelector": map[string]any{"matchLabels": map[string]any{"rack": rack}},
		}
		Expect(inventory.Client.Create(ctx, o)).To(Succeed())
	}
	release := func(ctx context.Context, name string) {
		GinkgoHelper()
		Expect(inventory.Client.Delete(ctx, newObject("metal.ironcore.dev/v1alpha1", "ServerClaim", metal.Namespace, name))).To(Succeed())
		Eventually(func(g Gomega) {
			claims, err := inventory.Claims(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(claims).NotTo(HaveKey(name))
		}, soon).Should(Succeed())
	}

	BeforeAll(func(ctx context.Context) {
		var err error
		recycled, err = inventory.MakeServers(ctx, metal.Batch{Prefix: "recycled", Count: 1, Labels: map[string]string{"rack": "i1"}})
		Expect(err).NotTo(HaveOccurred())
		retained, err = inventory.MakeServers(ctx,
			metal.Batch{Prefix: "retained", Count: 1, Labels: map[string]string{"rack": "i2"}, Retain: true})
		Expect(err).NotTo(HaveOccurred())
	})

	It("should be claimed by one claim after the other", func(ctx context.Context) {
		first, second := other+"-i1", other+"-i2"
		claim(ctx, first, "i1", `{"ignition":{"version":"3.2.0"}}`)
		Eventually(serverOf(ctx, recycled[0]),
			soon).Should(And(HaveField("State", "Reserved"), HaveField("On", true), HaveField("Consumer", "hosts/"+first)))
		Expect(metal.NewWatch(inventory, other).Active(ctx)).To(HaveKeyWithValue(first, And(
			HaveField("NodeName", first), HaveField("ProviderID", "ironcore-metal://hosts/"+first))))

		claim(ctx, second, "i1", `{"storage":{"files":[{"path":"/etc/hostname","contents":{"source":"data:,node-2"}}]}}`)
		release(ctx, first)
		Eventually(serverOf(ctx, recycled[0]),
			soon).Should(And(HaveField("State", "Reserved"), HaveField("On", true), HaveField("Consumer", "hosts/"+second)))
		Expect(metal.NewWatch(inventory, other).Active(ctx)).To(HaveKeyWithValue(second, HaveField("NodeName", "node-2")))
		release(ctx, second)
		Expect(inventory.WaitForServers(ctx, "Available", recycled[0])).To(Succeed())
		Expect(inventory.Journal.Uses(recycled[0])).To(HaveExactElements(HaveField("Consumer", "hosts/"+first),
			HaveField("Consumer", "hosts/"+second)))
		Expect(inventory.Journal.Conflicts()).To(BeEmpty())
	})

	It("should be retained until they are clean", func(ctx context.Context) {
		name := other + "-i3"
		claim(ctx, name, "i2", "{}")
		Eventually(serverOf(ctx, retained[0]), soon).Should(HaveField("On", true))
		release(ctx, name)
		Eventually(serverOf(ctx, retained[0]),
			soon).Should(And(HaveField("State", "Released"), HaveField("On", false), HaveField("Consumer", "hosts/"+name)))
		Expect(inventory.Clean(ctx, retained[0])).To(Succeed())
		Expect(serverOf(ctx, retained[0])(Default)).To(HaveField("Consumer", ""))
	})

	It("should wait for paused BMCs", func(ctx context.Context) {
		inventory.PauseBMCs()
		DeferCleanup(inventory.ResumeBMCs)
		claim(ctx, other+"-i4", "i1", "{}")
		Consistently(serverOf(ctx, recycled[0]), "3s").Should(HaveField("On", false))
		inventory.ResumeBMCs()
		Eventually(serverOf(ctx, recycled[0]), soon).Should(HaveField("On", true))
	})

	It("should keep a state that they are given", func(ctx context.Context) {
		Expect(inventory.SetServerState(ctx, retained[0], "Error")).To(Succeed())
		Consistently(serverOf(ctx, retained[0]), "3s").Should(HaveField("State", "Error"))
		Expect(inventory.SetServerState(ctx, retained[0], "Available")).To(Succeed())
		Eventually(serverOf(ctx, retained[0]), soon).Should(HaveField("State", "Available"))
	})
})

var _ = Describe("Pools", func() {
	It("should give each claim an address of its own as long as there are some", func(ctx context.Context) {
		Expect(inventory.MakePool(ctx, metal.Pool{
			Name: "stretched", Addresses: []string{"10.20.0.10-10.20.0.12"}, Excluded: []string{"10.20.0.11"}, Prefix: 16, Gateway: "10.20.0.1",
		})).To(Succeed())
		for _, name := range []string{"address-1", "address-2", "address-3"} {
			Expect(inventory.Client.Create(ctx, metal.NewAddressClaim(name, "stretched"))).To(Succeed())
		}
		addresses := func(g Gomega) []string {
			byClaim, err := inventory.Addresses(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(byClaim).To(HaveLen(3))
			return []string{byClaim["address-1"], byClaim["address-2"], byClaim["address-3"]}
		}
		Eventually(addresses, soon).Should(ConsistOf("10.20.0.10", "10.20.0.12", ""))
		for name, address := range must(inventory.Addresses(ctx)) {
			if address == "10.20.0.10" {
				Expect(inventory.Client.Delete(ctx, metal.NewAddressClaim(name, "stretched"))).To(Succeed())
			}
		}
		Eventually(func(g Gomega) []string {
			byClaim, err := inventory.Addresses(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			var all []string
			for _, address := range byClaim {
				all = append(all, address)
			}
			return all
		}, soon).Should(ConsistOf("10.20.0.10", "10.20.0.12"))
	})
})

var _ = Describe("Cluster", func() {
	It("should hang while kube-apiserver is paused and come back after a crash", func(ctx context.Context) {
		inventory.Cluster.APIServer.Pause()
		DeferCleanup(inventory.Cluster.APIServer.Resume)
		short, cancel := context.WithTimeout(ctx, soon/10)
		defer cancel()
		Expect(inventory.Client.Get(short, client.ObjectKey{Name: metal.Namespace}, namespace())).To(MatchError(context.DeadlineExceeded))
		inventory.Cluster.APIServer.Resume()
		Expect(inventory.Client.Get(ctx, client.ObjectKey{Name: metal.Namespace}, namespace())).To(Succeed())

		inventory.Cluster.APIServer.Kill()
		Expect(inventory.Client.Get(ctx, client.ObjectKey{Name: metal.Namespace},
			namespace())).To(MatchError(ContainSubstring("connection refused")))
		Expect(inventory.Cluster.APIServer.Start()).To(Succeed())
		Expect(inventory.Cluster.WaitReady(ctx)).To(Succeed())
		hosts, err := inventory.MakeHosts(ctx, metal.Batch{Prefix: "after-crash", Count: 1})
		Expect(err).NotTo(HaveOccurred())
		patchHost(ctx, hosts[0], map[string]any{"consumerRef": map[string]any{"name": "m", "namespace": "other"}})
		Eventually(func() []metal.Use { return inventory.Journal.Uses(hosts[0]) }, soon).Should(HaveLen(1))
	})
})
