// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("BareMetalHosts", Ordered, func() {
	var hosts []string

	BeforeAll(func(ctx context.Context) {
		var err error
		hosts, err = inventory.MakeHosts(ctx, metal.Batch{Prefix: "host", Count: 4, Labels: map[string]string{"rack": "r1"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(hosts).To(HaveLen(4))
	})

	It("should be provisioned and cleaned", func(ctx context.Context) {
		machine := shoot + "-a"
		Expect(hostOf(ctx, hosts[0])(Default)).To(And(HaveField("Labels", HaveKeyWithValue("rack", "r1")), HaveField("Consumer", "")))
		provision(ctx, hosts[0], machine)
		Expect(inventory.WaitForHosts(ctx, "provisioned", hosts[0])).To(Succeed())
		Eventually(hostOf(ctx, hosts[0]),
			soon).Should(And(HaveField("On", true), HaveField("Image", "http://images/os.raw"), HaveField("Consumer", shoot+"/"+machine)))
		Expect(metal.NewWatch(inventory, shoot).Active(ctx)).To(HaveKeyWithValue(machine, And(
			HaveField("NodeName", machine), HaveField("ProviderID", "metal3://hosts/"+hosts[0]+"/"+machine))))
		objects, err := inventory.Objects(ctx, shoot)
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(ConsistOf(HaveField("Kind", "BareMetalHost"), HaveField("Name", machine+"-metadata"),
			HaveField("Name", machine+"-userdata")))

		clean(ctx, hosts[0])
		Expect(inventory.WaitForHosts(ctx, "available", hosts[0])).To(Succeed())
		Eventually(hostOf(ctx, hosts[0]), soon).Should(And(HaveField("On", false), HaveField("Image", "")))
		free(ctx, hosts[0])
		Expect(metal.NewWatch(inventory, shoot).Active(ctx)).To(Equal(map[string]kubelets.Server{}))
		Eventually(func() []metal.Use { return inventory.Journal.Uses(hosts[0]) }, soon).Should(HaveExactElements(
			And(HaveField("Consumer", shoot+"/"+machine), HaveField("To.IsZero()", false))))
		Expect(inventory.Journal.HostsOf(shoot + "/" + machine)).To(Equal([]string{hosts[0]}))
	})

	It("should be provisioned while another one is cleaned", func(ctx context.Context) {
		provision(ctx, hosts[0], shoot+"-b")
		Expect(inventory.WaitForHosts(ctx, "provisioned", hosts[0])).To(Succeed())
		clean(ctx, hosts[0])
		provision(ctx, hosts[1], shoot+"-c")
		Expect(inventory.WaitForHosts(ctx, "provisioned", hosts[1])).To(Succeed())
		Expect(inventory.WaitForHosts(ctx, "available", hosts[0])).To(Succeed())
		Eventually(hostOf(ctx, hosts[1]), soon).Should(HaveField("On", true))
		Eventually(hostOf(ctx, hosts[0]), soon).Should(HaveField("On", false))
		Expect(inventory.Journal.Conflicts()).To(BeEmpty())
	})

	It("should wait for the user data and the metadata", func(ctx context.Context) {
		machine := shoot + "-d"
		patchHost(ctx, hosts[2], image(machine))
		Expect(inventory.WaitForHosts(ctx, "provisioning", hosts[2])).To(Succeed())
		Consistently(hostOf(ctx, hosts[2]), "3s").Should(HaveField("State", "provisioning"))
		makeSecret(ctx, machine+"-metadata", "metaData", "{}")
		makeSecret(ctx, machine+"-userdata", "userData", "#cloud-config")
		Expect(inventory.WaitForHosts(ctx, "provisioned", hosts[2])).To(Succeed())
	})

	It("should have the errors of their hardware", func(ctx context.Context) {
		Expect(inventory.FailHardware(ctx, hosts[3], metal.Provision, "disk is broken")).To(Succeed())
		provision(ctx, hosts[3], shoot+"-e")
		Eventually(hostOf(ctx, hosts[3]), soon).Should(HaveField("Error", ContainSubstring("disk is broken")))
		Expect(inventory.HealHardware(ctx, hosts[3])).To(Succeed())
		Expect(inventory.WaitForHosts(ctx, "provisioned", hosts[3])).To(Succeed())
		Eventually(hostOf(ctx, hosts[3]), soon).Should(HaveField("Error", BeEmpty()))
	})

	It("should keep an error that they are given", func(ctx context.Context) {
		Expect(inventory.SetHostError(ctx, hosts[3], "the BMC does not answer")).To(Succeed())
		Consistently(hostOf(ctx, hosts[3]), "2s").Should(And(HaveField("Error", "the BMC does not answer"), HaveField("State", "provisioned")))
		Expect(inventory.ClearHostError(ctx, hosts[3])).To(Succeed())
		Eventually(hostOf(ctx, hosts[3]), soon).Should(And(HaveField("Error", ""), HaveField("State", "provisioned")))
	})

	It("should wait for a paused operator", func(ctx context.Context) {
		inventory.Metal3.Pause()
		DeferCleanup(inventory.Metal3.Resume)
		clean(ctx, hosts[3])
		Consistently(hostOf(ctx, hosts[3]), "3s").Should(HaveField("State", "provisioned"))
		inventory.Metal3.Resume()
		Expect(inventory.WaitForHosts(ctx, "available", hosts[3])).To(Succeed())
	})

	It("should keep their systems when the operator starts again", func(ctx context.Context) {
		inventory.Metal3.Kill()
		Expect(inventory.Metal3.Start()).To(Succeed())
		clean(ctx, hosts[2])
		Expect(inventory.WaitForHosts(ctx, "available", hosts[2])).To(Succeed())
		Eventually(hostOf(ctx, hosts[1]), soon).Should(And(HaveField("State", "provisioned"), HaveField("On", true)))
	})
})
