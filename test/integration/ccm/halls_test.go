// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metalmachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	// racksAddress is what kubelets of the site racks are told.
	racksAddress = "10.250.8.7"
	// hallAddress is what is discovered on all servers of the landscape.
	hallAddress = "10.0.0.5"
	// hostsOfSite are as many as there are machines at a time.
	hostsOfSite = 4
	csiDriver   = "driver.example.com"
)

// hall is a bare-metal site.
type hall struct {
	machinePlace
	name string
}

// newHalls makes the hosts of both inventories, and the sites that they are.
func newHalls(ctx context.Context) map[string]*hall {
	GinkgoHelper()
	_, err := inventory.MakeHosts(ctx, metal.Batch{Prefix: racksSite, Count: hostsOfSite, Labels: map[string]string{"place": racksSite}})
	Expect(err).NotTo(HaveOccurred())
	_, err = inventory.MakeServers(ctx, metal.Batch{Prefix: hallSite, Count: hostsOfSite, Labels: map[string]string{"place": hallSite}})
	Expect(err).NotTo(HaveOccurred())
	credentials, err := inventory.Token(ctx)
	Expect(err).NotTo(HaveOccurred())

	sessions := metalclient.NewSessions()
	DeferCleanup(sessions.Close)
	result := map[string]*hall{}
	for name, kind := range map[string]v1alpha1.MetalInventory{racksSite: v1alpha1.MetalInventoryMetal3,
		hallSite: v1alpha1.MetalInventoryIronCore} {
		result[name] = &hall{name: name, machinePlace: machinePlace{
			part: metalmachines.New(sessions,
				inventories.Open), credentials: credentials.SiteCredentials(), userData: `{"ignition": {"version": "3.4.0"}}`, silent: true,
			spec: &v1alpha1.MachineProviderSpec{Site: name, Shoot: shoot, Metal: &v1alpha1.MetalMachineSpec{
				Connection: v1alpha1.MetalConnection{
					Inventory: kind, Server: inventory.Server(), Namespace: metal.Namespace, TLS: &v1alpha1.TLS{CACert: inventory.CA()},
				},
				HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"place": name}},
				Image:        v1alpha1.MetalImage{URL: "registry.example.com/images/linux:1.0", Checksum: "abc"},
				Cleaning:     v1alpha1.MetalCleaningDisabled,
				NodeName:     v1alpha1.MetalNodeNameMachine,
			}},
		}}
	}
	return result
}

func (h *hall) site() v1alpha1.CloudControllerSite {
	return v1alpha1.CloudControllerSite{Name: h.name, Metal: &v1alpha1.MetalCloudController{
		Connection: h.spec.Metal.Connection,
		Zones:      []v1alpha1.MetalCloudControllerZone{{Name: h.name + "-a", HostSelector: h.spec.Metal.HostSelector}},
	}}
}

var _ = Describe("Bare-metal nodes", func() {
	// begin starts a manager for the vSphere site and the site racks alone.
	begin := func(ctx context.Context, drivers ...string) *manager {
		GinkgoHelper()
		m := newManager()
		racks := halls[racksSite].site()
		racks.CSIDrivers = drivers
		m.config.DefaultSite, m.config.Sites = "", []v1alpha1.CloudControllerSite{place.site(), racks}
		m.start()
		m.waitFor(ctx, vcSite, racksSite)
		return m
	}
	haveTaint := ContainElement(HaveField("Key", uninitialized))

	It("should wait for their CSI drivers, also when their site's label is late", func(ctx SpecContext) {
		n := shoot + "-late-label"
		id := halls[racksSite].create(ctx, n)
		m := begin(ctx, csiDriver)
		object := node(ctx, n, "", tainted, notReady, withAddress(racksAddress))
		taints := func() []corev1.Taint { return getNode(ctx, n).Spec.Taints }
		Consistently(taints).WithContext(ctx).WithTimeout(2 * time.Second).ProbeEvery(200 * time.Millisecond).Should(haveTaint)

		By("labelling the node")
		Eventually(func() error {
			object = getNode(ctx, n)
			metav1.SetMetaDataLabel(&object.ObjectMeta, v1alpha1.LabelSite, racksSite)
			_, err := shootAPI.CoreV1().Nodes().Update(ctx, object, metav1.UpdateOptions{})
			return err
		}).WithContext(ctx).Should(Succeed())
		Eventually(func() int {
			return m.logged(`Node waits for its CSI drivers" site="racks" node="` + n + `" missing="` + csiDriver)
		}).
			WithContext(ctx).Within(time.Minute).Should(Equal(1))
		csiNode, err := shootAPI.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{
			Name: n, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n, UID: object.UID}},
		}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(shootAPI.StorageV1().CSINodes().Delete(ctx, n, metav1.DeleteOptions{})).To(Succeed())
		})
		Consistently(taints).WithContext(ctx).WithTimeout(8 * time.Second).ProbeEvery(200 * time.Millisecond).Should(haveTaint)
		Expect(getNode(ctx, n).Spec.ProviderID).To(BeEmpty())

		By("registering the driver")
		csiNode.Spec.Drivers = []storagev1.CSINodeDriver{{Name: csiDriver, NodeID: n}}
		_, err = shootAPI.StorageV1().CSINodes().Update(ctx, csiNode, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		Expect(initialized(ctx, n, 5*time.Second).Spec.ProviderID).To(Equal(id))
		AddReportEntry("initialized after the driver", time.Since(start).String())
		Expect(m.logged("error syncing")).To(BeZero())
	}, SpecTimeout(4*time.Minute))

	DescribeTable("should not keep those of other sites waiting while the inventory",
		func(ctx SpecContext, how string, disturb func(), repair func(context.Context)) {
			host, machine := shoot+"-host-"+how, shoot+"-vm-"+how
			hostID, machineID := halls[racksSite].create(ctx, host), place.create(ctx, machine)
			m := begin(ctx)
			DeferCleanup(repair)
			disturb()
			node(ctx, host, racksSite, tainted, notReady, withAddress(racksAddress))
			node(ctx, machine, vcSite, tainted, notReady, withSystemUUID(machineID[len("vsphere://"):]))
			initialized(ctx, machine, notHeldUp)
			Expect(getNode(ctx, host).Spec.Taints).To(haveTaint)

			repair(ctx)
			Expect(initialized(ctx, host, comesAbout).Spec.ProviderID).To(Equal(hostID))
			Expect(m.process.Check()).To(Succeed())
		},
		Entry("hangs", "hangs", func() { inventory.Cluster.APIServer.Pause() }, func(context.Context) { inventory.Cluster.APIServer.Resume() },
			SpecTimeout(8*time.Minute)),
	)
})
