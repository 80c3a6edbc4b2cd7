// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// comesAbout limits what has only to happen in the end. It is generous: all sites answer slowly on a busy machine.
const comesAbout = 5 * time.Minute

// places are where the machines of sites are made.
func places() map[string]*machinePlace {
	return map[string]*machinePlace{
		cloudSite: &clouds[cloudSite].machinePlace, anotherSite: &clouds[anotherSite].machinePlace,
		vcSite:    &place.machinePlace,
		racksSite: &halls[racksSite].machinePlace, hallSite: &halls[hallSite].machinePlace,
	}
}

// named returns the name of a node of the shoot.
func named(parts ...string) string { return shoot + "-" + strings.Join(parts, "-") }

// join makes the node of a machine as its kubelet does.
func join(ctx context.Context, nodeName, siteName, providerID string) {
	GinkgoHelper()
	told := func(*corev1.Node) {}
	if siteName == racksSite {
		told = withAddress(racksAddress)
	}
	node(ctx, nodeName, siteName, tainted, notReady, told, withSystemUUID(strings.ToUpper(providerID[strings.LastIndex(providerID, "/")+1:])))
}

// setState changes a node and its status.
func setState(ctx context.Context, nodeName string, change func(*corev1.Node)) {
	GinkgoHelper()
	Eventually(func() error {
		n := getNode(ctx, nodeName)
		change(n)
		conditions := n.Status.Conditions
		n, err := shootAPI.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		n.Status.Conditions = conditions
		_, err = shootAPI.CoreV1().Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Within(comesAbout).Should(Succeed())
}

// seenReady waits until the life cycle controller knows that the node is ready. It removes the taint from such nodes alone, and
// lists the nodes again only when it has asked for the machines of all, which takes a minute or more where servers are slow to show.
func seenReady(ctx context.Context, nodeName string) {
	GinkgoHelper()
	Expect(cloudnodeutil.AddOrUpdateTaintOnNode(shootAPI, nodeName, nodelifecycle.ShutdownTaint)).To(Succeed())
	Eventually(func() []corev1.Taint { return getNode(ctx, nodeName).Spec.Taints }).WithContext(ctx).Within(comesAbout).
		ProbeEvery(50*time.Millisecond).ShouldNot(ContainElement(HaveField("Key", nodelifecycle.ShutdownTaint.Key)), nodeName)
}

// inParallel calls do for all items, for a few at a time.
func inParallel[T any](items []T, do func(T)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, 4)
	for _, item := range items {
		group.Go(func() {
			defer GinkgoRecover()
			slots <- struct{}{}
			defer func() { <-slots }()
			do(item)
		})
	}
	group.Wait()
}

// Each site has a machine of its own, and one that goes while its node is not ready. All else is there once: none of the platforms
// differs in it.
var _ = Describe("Nodes of all sites", Ordered, func() {
	// of is a machine or its node.
	type of struct{ site, name string }
	var (
		m *manager
		// ids are the provider IDs of all machines.
		ids = map[of]string{}
		own = func(siteName string) of { return of{siteName, named(siteName, "own")} }
		// gone are the machines that go while their nodes are not ready.
		gone []of
		// lost is the machine that goes while its node is ready.
		lost = of{cloudSite, named(cloudSite, "lost")}
		// relabelled and moved are machines whose nodes get the label of a site with the same platform.
		relabelled, moved = of{anotherSite, named("relabelled")}, of{racksSite, named("moved")}
		// both and twin are the names of machines on two sites each. The nodes are of the second site.
		both, twin = named("both"), named("twin")
		// joined are the machines that have nodes.
		joined []of
	)

	BeforeAll(func(ctx SpecContext) {
		m = newManager()
		m.start()
		m.waitFor(ctx, cloudSite, anotherSite, vcSite, racksSite, hallSite)

		machines := []of{lost, relabelled, moved, {cloudSite, both}, {anotherSite, both}, {vcSite, twin}, {hallSite, twin}}
		for siteName := range places() {
			gone = append(gone, of{siteName, named(siteName, "gone")})
			machines = append(machines, own(siteName))
		}
		machines = append(machines, gone...)
		var mutex sync.Mutex
		inParallel(machines, func(machine of) {
			id := places()[machine.site].create(ctx, machine.name)
			mutex.Lock()
			defer mutex.Unlock()
			ids[machine] = id
		})
		Expect(ids).To(HaveLen(len(machines)))
		joined = slices.DeleteFunc(machines, func(machine of) bool {
			return machine == of{cloudSite, both} || machine == of{vcSite, twin}
		})
		inParallel(joined, func(n of) { join(ctx, n.name, n.site, ids[n]) })
	}, NodeTimeout(20*time.Minute))

	It("should be initialized by their own site", func(ctx SpecContext) {
		addresses := map[string]string{cloudSite: "10.250.0.", anotherSite: "10.250.4.", vcSite: "10.200.", racksSite: racksAddress,
			hallSite: hallAddress}
		for _, n := range joined {
			found := initialized(ctx, n.name, comesAbout)
			Expect(found.Spec.ProviderID).To(Equal(ids[n]), n.name)
			Expect(found.Labels).To(And(
				HaveKeyWithValue(corev1.LabelTopologyZone, n.site+"-a"), HaveKeyWithValue(corev1.LabelTopologyRegion, region),
				HaveKeyWithValue(v1alpha1.LabelInitializedBy, n.site), HaveKey(corev1.LabelInstanceTypeStable),
			), n.name)
			Eventually(func() []corev1.NodeAddress { return getNode(ctx, n.name).Status.Addresses }).WithContext(ctx).Within(comesAbout).
				Should(ContainElement(And(HaveField("Type", corev1.NodeInternalIP), HaveField("Address", HavePrefix(addresses[n.site])))),
					n.name)
		}
	}, SpecTimeout(20*time.Minute))

	It("should be deleted with their machines by their own site, and no others", func(ctx SpecContext) {
		By("adding nodes that no site can know")
		const unknown = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
		unproven := map[string]string{
			cloudSite: "openstack:///" + unknown, vcSite: "vsphere://" + unknown,
			racksSite: "metal3://hosts/none/none", hallSite: "ironcore-metal://hosts/none",
		}
		// others are the provider IDs of another platform, and for bare metal those of the other inventory.
		others := map[string]string{
			cloudSite: unproven[vcSite], vcSite: unproven[cloudSite], racksSite: ids[own(hallSite)], hallSite: ids[own(racksSite)],
		}
		type stranger struct {
			of
			id     string
			change []func(*corev1.Node)
		}
		strangers := []stranger{
			{of{cloudSite, named("foreign")}, ids[own(anotherSite)], nil},
			{of{cloudSite, named("foreign", "tainted")}, ids[own(anotherSite)], []func(*corev1.Node){tainted}},
		}
		for siteName := range unproven {
			strangers = append(strangers,
				stranger{of{siteName, named(siteName, "platform", "tainted")}, others[siteName], []func(*corev1.Node){tainted}})
			for kind, id := range map[string]string{
				"platform": others[siteName], "cloud": "gce://project/zone/name", "static": "static://", "bare": unknown, "empty": "",
				"metal": "metal3://other/host-1/machine-1", "region": "openstack://RegionOne/" + unknown, "unproven": unproven[siteName],
			} {
				strangers = append(strangers, stranger{of{siteName, named(siteName, kind)}, id, nil})
			}
		}
		for kind, id := range map[string]string{"byhand": "", "bystatic": "static://", "bycloud": unproven[cloudSite], "byvc": unproven[vcSite]} {
			strangers = append(strangers, stranger{of{"", named(kind)}, id, nil})
		}
		var mutex sync.Mutex
		specs := map[string]corev1.NodeSpec{}
		inParallel(strangers, func(s stranger) {
			created := node(ctx, s.name, s.site, append(s.change, notReady, withID(s.id))...)
			mutex.Lock()
			defer mutex.Unlock()
			specs[s.name] = created.Spec
		})

		By("labelling nodes for other sites, and deleting machines")
		setState(ctx, relabelled.name, func(n *corev1.Node) { n.Labels[v1alpha1.LabelSite] = cloudSite })
		setState(ctx, moved.name, func(n *corev1.Node) { n.Labels[v1alpha1.LabelSite] = hallSite })
		setState(ctx, lost.name, ready)
		seenReady(ctx, lost.name)
		inParallel(append(slices.Clone(gone), lost), func(machine of) {
			places()[machine.site].delete(ctx, machine.name, ids[machine])
		})

		By("waiting for their nodes to go")
		staying := []string{lost.name, relabelled.name, moved.name, both, twin}
		for siteName := range places() {
			staying = append(staying, own(siteName).name)
		}
		staying = slices.Sorted(slices.Values(slices.AppendSeq(staying, maps.Keys(specs))))
		nodes := func() []string {
			list, err := shootAPI.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, n := range list.Items {
				names = append(names, n.Name)
			}
			return slices.Sorted(slices.Values(names))
		}
		Eventually(nodes).WithContext(ctx).Within(comesAbout).ProbeEvery(time.Second).Should(Equal(staying))
		Consistently(nodes).WithContext(ctx).WithTimeout(15 * time.Second).ProbeEvery(time.Second).Should(Equal(staying))
		for nodeName, spec := range specs {
			Expect(getNode(ctx, nodeName).Spec).To(Equal(spec), nodeName)
		}
		Expect(m.process.Check()).To(Succeed())
		AddReportEntry("nodes", fmt.Sprintf("%d of machines, %d others; deleted: %d of machines that were gone",
			len(joined), len(specs), len(gone)))
	}, SpecTimeout(20*time.Minute))

	It("should be initialized again by their own site when they are tainted again", func(ctx SpecContext) {
		for siteName := range places() {
			setState(ctx, own(siteName).name, tainted)
		}
		for siteName := range places() {
			Expect(initialized(ctx, own(siteName).name, comesAbout).Spec.ProviderID).To(Equal(ids[own(siteName)]))
		}
		Expect(m.process.Check()).To(Succeed())
	}, SpecTimeout(10*time.Minute))
})

// notHeldUp limits what a site does while another one hangs: it is half of the time that a request to that one may take, so that
// nothing that waits for it ends in time.
const notHeldUp = 30 * time.Second

var _ = Describe("Nodes", func() {
	DescribeTable("should not wait for another site",
		func(ctx SpecContext, how string, disturb func(*countproxy.Proxy) error, repair func(*countproxy.Proxy) error) {
			m := newManager()
			proxy := clouds[cloudSite].proxy
			machine, broken := named("quick", how), named("broken", how)
			machineID := place.create(ctx, machine)
			brokenID := clouds[cloudSite].create(ctx, broken)
			m.start()
			m.waitFor(ctx, cloudSite, anotherSite, vcSite)
			Expect(disturb(proxy)).To(Succeed())
			DeferCleanup(func() { _ = repair(proxy) })

			for i := range 3 {
				join(ctx, fmt.Sprintf("%s-%d", broken, i), cloudSite, brokenID)
			}
			join(ctx, broken, cloudSite, brokenID)
			join(ctx, machine, vcSite, machineID)
			initialized(ctx, machine, notHeldUp)

			Expect(getNode(ctx, broken).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))
			place.delete(ctx, machine, machineID)
			Eventually(func() *corev1.Node { return getNode(ctx, machine) }).WithContext(ctx).Within(notHeldUp).
				ProbeEvery(50 * time.Millisecond).Should(BeNil())
			Expect(getNode(ctx, broken).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))

			Expect(repair(proxy)).To(Succeed())
			initialized(ctx, broken, comesAbout)
			Expect(m.process.Check()).To(Succeed())
		},
		suite.NightlyEntries(Entry("that hangs for 60 s", "hangs", hang, heal, SpecTimeout(12*time.Minute))),
		Entry("that is down", "down", func(p *countproxy.Proxy) error { return p.TakeDown("nova") },
			func(p *countproxy.Proxy) error { return p.BringUp("nova") }, SpecTimeout(12*time.Minute)),
	)

	It("should serve the other sites while one is down at the start, and that one once it is up", func(ctx SpecContext) {
		proxy := clouds[cloudSite].proxy
		Expect(proxy.TakeDown("keystone")).To(Succeed())
		up := sync.OnceValue(func() error { return proxy.BringUp("keystone") })
		DeferCleanup(up)
		m := newManager()
		late, early := named("late"), named("early")
		lateID, earlyID := clouds[cloudSite].create(ctx, late), clouds[anotherSite].create(ctx, early)
		join(ctx, late, cloudSite, lateID)
		join(ctx, early, anotherSite, earlyID)
		m.start()
		initialized(ctx, early, comesAbout)
		Expect(m.logged(`Site cannot be opened.*site="cloud"`)).To(BeNumerically(">", 0))
		Expect(getNode(ctx, late).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))

		pid := m.process.PID()
		Expect(up()).To(Succeed())
		initialized(ctx, late, comesAbout)
		Expect(m.process.PID()).To(Equal(pid))
	}, SpecTimeout(12*time.Minute))

	It("should not take the answer of a proxy for that of the site", func(ctx SpecContext) {
		m := newManager()
		n := named("proxied")
		id := clouds[cloudSite].create(ctx, n)
		join(ctx, n, cloudSite, id)
		m.start()
		initialized(ctx, n, comesAbout)
		proxy := clouds[cloudSite].proxy
		Expect(proxy.SetFaults(countproxy.Fault{Name: "gone", Service: "nova", Path: "/servers/", Action: countproxy.ActionStatus, Status: 404,
			Body: "404 page not found"})).To(Succeed())
		DeferCleanup(func() { Expect(heal(proxy)).To(Succeed()) })
		Eventually(func() int { return proxy.Acted("gone") }).WithContext(ctx).Within(comesAbout).Should(BeNumerically(">", 4))
		Expect(getNode(ctx, n)).NotTo(BeNil())
	}, SpecTimeout(12*time.Minute))

	It("should replace the controllers of the site whose credentials change, and no others", func(ctx SpecContext) {
		m := newManager()
		m.start()
		m.waitFor(ctx, cloudSite, anotherSite, vcSite)
		wrong := maps.Clone(clouds[anotherSite].credentials)
		wrong["password"] = "wrong"
		m.setCredentials(anotherSite, wrong)
		Eventually(func() int { return m.logged(`Site cannot be opened.*site="another" class="Unauthenticated"`) }).
			WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(BeNumerically(">", 0))
		m.setCredentials(anotherSite, clouds[anotherSite].credentials)
		Eventually(func() int { return m.logged(`Running the controllers of a site" site="another"`) }).
			WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Equal(2))
		for siteName, begun := range map[string]int{cloudSite: 1, vcSite: 1, anotherSite: 3} {
			Expect(m.logged(`Starting the controllers of a site" site="`+siteName)).To(Equal(begun), siteName)
		}
		Expect(m.logged("wrong")).To(BeZero(), "the password is in the log")

		By("breaking the configuration of one site and leaving another out")
		m.config.Sites = m.config.Sites[:2]
		m.config.Sites[0].OpenStack.Zones = nil
		m.writeConfig()
		Eventually(func() int { return m.logged(`Ending the controllers of a removed site" site="vc"`) }).WithContext(ctx).Within(time.Minute).
			ProbeEvery(time.Second).Should(Equal(1))
		Expect(m.logged(`Configuration is invalid, keeping the running controllers" err=.* site="cloud"`)).To(Equal(1))
		n := named("still")
		join(ctx, n, cloudSite, clouds[cloudSite].create(ctx, n))
		initialized(ctx, n, comesAbout)
	}, SpecTimeout(12*time.Minute))
})

// hang lets all requests wait until the client gives up.
func hang(p *countproxy.Proxy) error {
	return p.SetFaults(countproxy.Fault{Name: "hang", Action: countproxy.ActionHang})
}

func heal(p *countproxy.Proxy) error {
	return p.SetFaults()
}
