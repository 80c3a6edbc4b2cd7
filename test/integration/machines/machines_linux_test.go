// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/hardware"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// life is the label of what "make machines" does.
const life = "life"

const (
	joinTime = 8 * time.Minute
	specTime = 30 * time.Minute
)

var _ = Describe("Machines that boot", Ordered, func() {
	each := func(f func(site string, machine *hardware.Machine)) {
		for _, pool := range pools() {
			if machine := lab.machine(pool.name); machine != nil {
				f(pool.name, machine)
			}
		}
	}
	BeforeEach(func() {
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				each(func(site string, machine *hardware.Machine) {
					AddReportEntry(site, machine.Console(60), ReportEntryVisibilityFailureOrVerbose)
				})
				for id, machine := range lab.stack.servers.All() {
					AddReportEntry("server "+id, machine.Console(60), ReportEntryVisibilityFailureOrVerbose)
				}
			}
		})
	})

	It("should become nodes that are ready and initialized", Label(life), func(ctx SpecContext) {
		begin := time.Now()
		Expect(lab.createShoot(ctx)).To(Succeed())
		for n, site := range sites {
			node := become(ctx, site, corev1.ConditionTrue)
			AddReportEntry("ready "+site, fmt.Sprintf("%.0f s after the Worker", time.Since(begin).Seconds()))
			machine := machineOf(ctx, site)
			Expect(node.Name).To(Equal(machine.Name))
			switch site {
			case shoot.VSphereSite:
				lab.names[site] = node.Name
			case shoot.Sites[0]:
				lab.names[site] = serverOf(ctx, site)
			}
			Expect(node.Status.NodeInfo.KernelVersion).To(HavePrefix("7.2."))
			Expect(node.Status.NodeInfo.KubeletVersion).To(Equal("v1.36.3"))
			Expect(node.Status.NodeInfo.ContainerRuntimeVersion).To(HavePrefix("containerd://2."))
			Eventually(ctx, func(g Gomega) {
				node, err := lab.node(ctx, site)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(node.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
				g.Expect(node.Spec.Taints).NotTo(ContainElement(HaveField("Key", "node.cloudprovider.kubernetes.io/uninitialized")))
				g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, zones[n]))
				g.Expect(node.Status.Addresses).To(ContainElement(And(HaveField("Type", corev1.NodeInternalIP), HaveField("Address",
					WithTransform(lab.contains(n), BeTrue())))))
			}, joinTime, time.Second).Should(Succeed())
		}
		become(ctx, peerPool, corev1.ConditionTrue)
		lab.names[peerPool] = serverOf(ctx, peerPool)
		Expect(errors.Join(lab.hosts.Check(), lab.guests.Check())).To(Succeed())
		for _, site := range sites {
			Expect(lab.machine(site)).NotTo(BeNil(), site)
		}
		each(func(_ string, machine *hardware.Machine) {
			Expect(machine.Console(200)).To(ContainSubstring("user data of "))
			Expect(lab.isOnDisk(machine, mark)).To(BeTrue())
		})
	}, SpecTimeout(specTime))

	birthSpecs()

	bastionSpecs(func(ctx context.Context, site string) (string, string) {
		GinkgoHelper()
		node, err := lab.node(ctx, site)
		Expect(err).NotTo(HaveOccurred())
		Expect(internalIP(node)).NotTo(BeEmpty(), node.Name)
		return node.Name, internalIP(node)
	})

	It("should be kept while the cables of their sites are pulled, and be ready again", func(ctx SpecContext) {
		before := map[string]map[string]string{}
		for _, site := range sites {
			before[site] = specs.Identities(ctx, poolOf(site), "")
		}
		each(func(_ string, machine *hardware.Machine) { Expect(machine.PullCable()).To(Succeed()) })
		for _, site := range sites {
			become(ctx, site, corev1.ConditionUnknown)
			Eventually(ctx, quarantined, joinTime, time.Second).WithArguments(site).Should(Equal(gardencorev1beta1.ConditionTrue), site)
		}
		each(func(_ string, machine *hardware.Machine) { Expect(machine.PlugCable()).To(Succeed()) })
		for _, site := range sites {
			become(ctx, site, corev1.ConditionTrue)
			Eventually(ctx, quarantined, joinTime, time.Second).WithArguments(site).Should(Equal(gardencorev1beta1.ConditionFalse), site)
			Expect(specs.Identities(ctx, poolOf(site), "")).To(Equal(before[site]))
		}
	}, SpecTimeout(specTime))

	It("should come back as the same nodes after their power was cut", func(ctx SpecContext) {
		before := map[string]*corev1.Node{}
		for _, site := range sites {
			before[site] = become(ctx, site, corev1.ConditionTrue)
			Expect(lab.cutPower(ctx, site)).To(Succeed())
		}
		for _, site := range sites {
			Eventually(ctx, func(g Gomega) {
				node, err := lab.node(ctx, site)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(readiness(node)).To(Equal(corev1.ConditionTrue))
				g.Expect(node.UID).To(Equal(before[site].UID))
				g.Expect(node.Status.NodeInfo.BootID).NotTo(Equal(before[site].Status.NodeInfo.BootID))
			}, joinTime, time.Second).Should(Succeed())
		}
	}, SpecTimeout(specTime))

	lifeSpecs()
})

// readiness is whether the kubelet of a node says that it is ready, empty if there is no node.
func readiness(node *corev1.Node) corev1.ConditionStatus {
	if node == nil {
		return ""
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// internalIP is the address of a node in the network of its site, empty if it has none.
func internalIP(node *corev1.Node) string {
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}

func poolOf(name string) shoot.Pool { return shoot.Pool{Shoot: lab.shoot, Name: name} }

// machineOf is the only machine of a pool.
func machineOf(ctx context.Context, pool string) *machinev1alpha1.Machine {
	GinkgoHelper()
	machines := specs.Machines(ctx, poolOf(pool), "")
	Expect(machines).To(HaveLen(1))
	return &machines[0]
}

// serverOf is the ID of the server of a pool's only machine.
func serverOf(ctx context.Context, pool string) string {
	GinkgoHelper()
	return strings.TrimPrefix(machineOf(ctx, pool).Spec.ProviderID, "openstack:///")
}

// become waits until the node of a pool has a status, and returns it.
func become(ctx context.Context, pool string, status corev1.ConditionStatus) *corev1.Node {
	GinkgoHelper()
	var node *corev1.Node
	Eventually(ctx, func() (corev1.ConditionStatus, error) {
		if err := stopIfEnded(); err != nil {
			return "", err
		}
		var err error
		node, err = lab.node(ctx, pool)
		return readiness(node), err
	}, joinTime, time.Second).Should(Equal(status), pool)
	return node
}

// quarantined returns whether a site is in quarantine, empty if it never was.
func quarantined(ctx context.Context, site string) (gardencorev1beta1.ConditionStatus, error) {
	infrastructures := &extensionsv1alpha1.InfrastructureList{}
	if err := lab.shoot.Seed.Client.List(ctx, infrastructures, client.InNamespace(shootName)); err != nil || len(infrastructures.Items) != 1 {
		return "", err
	}
	condition := v1beta1helper.GetCondition(infrastructures.Items[0].Status.Conditions, v1alpha1.ConditionSiteQuarantinedPrefix+
		gardencorev1beta1.ConditionType(site))
	if condition == nil {
		return "", nil
	}
	return condition.Status, nil
}

// stopIfEnded returns an error if something that the shoot needs does not run.
func stopIfEnded() error {
	if err := lab.shoot.Seed.Check(); err != nil {
		return StopTrying("a process ended").Wrap(err)
	}
	return nil
}
