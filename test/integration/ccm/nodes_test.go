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
)

var _ = Describe("Nodes", func() {
	// places are where the machines of sites are made.
	places := func() map[string]*machinePlace {
		return map[string]*machinePlace{cloudSite: &clouds[cloudSite].machinePlace, anotherSite: &clouds[anotherSite].machinePlace,
			vcSite:    &place.machinePlace,
			racksSite: &halls[racksSite].machinePlace, hallSite: &halls[hallSite].machinePlace}
	}
	name := func(parts ...string) string { return shoot + "-" + strings.Join(parts, "-") }
	// join makes the node of a machine as its kubelet does.
	join := func(ctx context.Context, nodeName, siteName, providerID string) {
		GinkgoHelper()
		told := func(*corev1.Node) {}
		if siteName == racksSite {
			told = withAddress(racksAddress)
		}
		node(ctx, nodeName, siteName, tainted, notReady, told, withSystemUUID(strings.ToUpper(providerID[strings.LastIndex(providerID, "/")+1:])))
	}
	// seenReady waits until the controller of the life cycle knows that the node is ready. It takes the taint from such nodes alone, and
	// lists the nodes anew only when it has asked for the machines of all, which takes a minute or more where servers are slow to show.
	seenReady := func(ctx context.Context, nodeName string) {
		GinkgoHelper()
		Expect(cloudnodeutil.AddOrUpdateTaintOnNode(shootAPI, nodeName, nodelifecycle.ShutdownTaint)).To(Succeed())
		Eventually(func() []corev1.Taint {
			return getNode(ctx,
				nodeName).Spec.Taints
		}).WithContext(ctx).Within(3*time.Minute).ProbeEvery(50*time.Millisecond).
			ShouldNot(ContainElement(HaveField("Key", nodelifecycle.ShutdownTaint.Key)), nodeName)
	}
	states := map[string]func(*corev1.Node){"ready": ready, "unknown": notReady, "tainted": func(n *corev1.Node) { notReady(n); tainted(n) }}

	It("should initialize and delete those of their own site and no others", func(ctx SpecContext) {
		m := newManager()
		m.start()
		m.waitFor(ctx, cloudSite, anotherSite, vcSite, racksSite, hallSite)

		By("making machines")
		var (
			mutex sync.Mutex
			ids   = map[string]string{}
			group sync.WaitGroup
			slots = make(chan struct{}, 4)
		)
		create := func(siteName, machine string) {
			group.Go(func() {
				defer GinkgoRecover()
				slots <- struct{}{}
				defer func() { <-slots }()
				id := places()[siteName].create(ctx, machine)
				mutex.Lock()
				defer mutex.Unlock()
				ids[siteName+"/"+machine] = id
			})
		}
		for siteName := range places() {
			for state := range states {
				for _, kind := range []string{"own", "gone"} {
					create(siteName, name(siteName, kind, state))
				}
			}
		}
		for state := range states {
			create(anotherSite, name("relabelled", state))
		}
		for _, siteName := range []string{cloudSite, anotherSite} {
			create(siteName, name("both"))
		}
		for _, siteName := range []string{vcSite, hallSite} {
			create(siteName, name("twin"))
		}
		group.Wait()

		By("letting their nodes join")
		for siteName := range places() {
			for state := range states {
				for _, kind := range []string{"own", "gone"} {
					n := name(siteName, kind, state)
					join(ctx, n, siteName, ids[siteName+"/"+n])
				}
			}
		}
		for state := range states {
			n := name("relabelled", state)
			join(ctx, n, anotherSite, ids[anotherSite+"/"+n])
		}
		join(ctx, name("both"), anotherSite, ids[anotherSite+"/"+name("both")])

		join(ctx, name("twin"), hallSite, ids[hallSite+"/"+name("twin")])

		addresses := map[string]string{cloudSite: "10.250.0.", anotherSite: "10.250.4.", vcSite: "10.200.", racksSite: racksAddress,
			hallSite: hallAddress}
		expectInitialized := func(siteName, nodeName string) {
			GinkgoHelper()
			n := initialized(ctx, nodeName, time.Minute)
			Expect(n.Spec.ProviderID).To(Equal(ids[siteName+"/"+nodeName]), nodeName)
			Expect(n.Labels).To(And(
				HaveKeyWithValue(corev1.LabelTopologyZone, siteName+"-a"), HaveKeyWithValue(corev1.LabelTopologyRegion, region),
				HaveKeyWithValue(v1alpha1.LabelInitializedBy, siteName), HaveKey(corev1.LabelInstanceTypeStable),
			), nodeName)
			Eventually(func() []corev1.NodeAddress { return getNode(ctx, nodeName).Status.Addresses }).Within(time.Minute).Should(
				ContainElement(And(HaveField("Type", corev1.NodeInternalIP), HaveField("Address", HavePrefix(addresses[siteName])))), nodeName)
		}
		for key := range ids {
			siteName, nodeName, _ := strings.Cut(key, "/")
			if nodeName == name("both") && siteName == cloudSite || nodeName == name("twin") && siteName == vcSite {
				continue
			}
			expectInitialized(siteName, nodeName)
		}

		By("changing the states of nodes, deleting machines and adding nodes that nobody can know")
		setState := func(nodeName string, change func(*corev1.Node)) {
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
			}).Within(5 * time.Second).Should(Succeed())
		}
		// expected says of each node whether it stays.
		expected := map[string]bool{}
		for siteName, p := range places() {
			for state, change := range states {
				expected[name(siteName, "own", state)] = true
				setState(name(siteName, "own", state), change)

				gone := name(siteName, "gone", state)
				expected[gone] = state == "ready"
				setState(gone, change)
				if state == "ready" {
					seenReady(ctx, gone)
				}
				p.delete(ctx, gone, ids[siteName+"/"+gone])
			}
		}
		for state, change := range states {
			n := name("relabelled", state)
			expected[n] = true
			setState(n, func(n *corev1.Node) {
				change(n)
				n.Labels[v1alpha1.LabelSite] = cloudSite
			})
		}
		nobodys := map[string]corev1.NodeSpec{}
		add := func(state, siteName, nodeName, id string) {
			GinkgoHelper()
			created := node(ctx, nodeName, siteName, states[state], withID(id))
			nobodys[nodeName] = created.Spec
			expected[nodeName] = true
		}
		const unknown = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
		own := map[string]string{
			cloudSite: "openstack:///" + unknown, vcSite: "vsphere://" +
				unknown, racksSite: "metal3://hosts/none/none", hallSite: "ironcore-metal://hosts/none",
		}
		// others are the provider IDs of another platform, and for bare metal those of the other inventory.
		others := map[string]string{
			cloudSite: own[vcSite], vcSite: own[cloudSite], racksSite: ids[hallSite+"/"+name(hallSite, "own",
				"ready")], hallSite: ids[racksSite+"/"+name(racksSite, "own", "ready")],
		}
		for state := range states {
			add(state, cloudSite, name("foreign", state), ids[anotherSite+"/"+name(anotherSite, "own", "ready")])
			for siteName, ownID := range own {
				for kind, id := range map[string]string{
					"platform": others[siteName], "cloud": "gce://project/zone/name", "static": "static://", "metal": "metal3://other/host-1/machine-1", "bare": unknown,
					"region": "openstack://RegionOne/" + unknown, "unproven": ownID,
				} {
					add(state, siteName, name(siteName, kind, state), id)
				}
				add(state, siteName, name(siteName, "empty", state), "")
			}
			for kind, id := range map[string]string{"byhand": "", "bystatic": "static://", "bycloud": "openstack:///" + unknown,
				"byvc": "vsphere://" + unknown} {
				add(state, "", name(kind, state), id)
			}
		}
		expected[name("both")], expected[name("twin")] = true, true
		// A host's node that is labelled for the site of the other inventory.
		moved := name(racksSite, "own", "unknown")
		setState(moved, func(n *corev1.Node) { n.Labels[v1alpha1.LabelSite] = hallSite })

		By("waiting for the nodes to go")
		nodes := func() []string {
			list, err := shootAPI.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, n := range list.Items {
				names = append(names, n.Name)
			}
			slices.Sort(names)
			return names
		}
		var staying []string
		for nodeName, stays := range expected {
			if stays {
				staying = append(staying, nodeName)
			}
		}
		slices.Sort(staying)
		Eventually(nodes).WithContext(ctx).Within(3 * time.Minute).ProbeEvery(time.Second).Should(Equal(staying))
		Consistently(nodes).WithContext(ctx).WithTimeout(15 * time.Second).ProbeEvery(time.Second).Should(Equal(staying))
		for nodeName, spec := range nobodys {
			Expect(getNode(ctx, nodeName).Spec).To(Equal(spec), nodeName)
		}
		for siteName := range places() {
			n := initialized(ctx, name(siteName, "own", "tainted"), time.Minute)
			Expect(n.Spec.ProviderID).To(Equal(ids[siteName+"/"+n.Name]))
		}
		Expect(m.process.Check()).To(Succeed())
		AddReportEntry("nodes",
			fmt.Sprintf("%d nodes, %d of them nobody's; deleted: those of %d machines that were gone and not ready", len(expected), len(nobodys),
				len(expected)-len(staying)))
	}, SpecTimeout(20*time.Minute))

	DescribeTable("should not wait for another site",
		func(ctx SpecContext, how string, disturb func(*countproxy.Proxy) error, repair func(*countproxy.Proxy) error) {
			m := newManager()
			proxy := clouds[cloudSite].proxy
			machine, broken := name("quick", how), name("broken", how)
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
			start := time.Now()
			join(ctx, machine, vcSite, machineID)
			initialized(ctx, machine, 10*time.Second)
			took := time.Since(start)
			Expect(took).To(BeNumerically("<", 5*time.Second))
			AddReportEntry("initialized", took.String())

			Expect(getNode(ctx, broken).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))
			place.delete(ctx, machine, machineID)
			start = time.Now()
			Eventually(func() *corev1.Node {
				return getNode(ctx,
					machine)
			}).WithContext(ctx).Within(time.Minute).ProbeEvery(50 * time.Millisecond).Should(BeNil())
			Expect(time.Since(start)).To(BeNumerically("<", 9*time.Second))

			Expect(repair(proxy)).To(Succeed())
			initialized(ctx, broken, 2*time.Minute)
			Expect(m.process.Check()).To(Succeed())
		},
		Entry("that hangs for 60 s", "hangs", hang, heal, SpecTimeout(10*time.Minute)),
		Entry("that is down", "down", func(p *countproxy.Proxy) error { return p.TakeDown("nova") },
			func(p *countproxy.Proxy) error { return p.BringUp("nova") }, SpecTimeout(10*time.Minute)),
	)

	It("should serve the other sites while one is down at the start, and that one once it is up", func(ctx SpecContext) {
		proxy := clouds[cloudSite].proxy
		Expect(proxy.TakeDown("keystone")).To(Succeed())
		up := sync.OnceValue(func() error { return proxy.BringUp("keystone") })
		DeferCleanup(up)
		m := newManager()
		late, early := name("late"), name("early")
		lateID, earlyID := clouds[cloudSite].create(ctx, late), clouds[anotherSite].create(ctx, early)
		join(ctx, late, cloudSite, lateID)
		join(ctx, early, anotherSite, earlyID)
		m.start()
		initialized(ctx, early, 40*time.Second)
		Expect(m.logged(`Site cannot be opened.*site="cloud"`)).To(BeNumerically(">", 0))
		Expect(getNode(ctx, late).Spec.Taints).To(ContainElement(HaveField("Key", uninitialized)))

		pid := m.process.PID()
		Expect(up()).To(Succeed())
		start := time.Now()
		initialized(ctx, late, time.Minute)
		took := time.Since(start)
		Expect(m.process.PID()).To(Equal(pid))
		AddReportEntry("initialized after its site came", took.String())
	}, SpecTimeout(6*time.Minute))

	It("should not take the answer of a proxy for that of the site", func(ctx SpecContext) {
		m := newManager()
		n := name("proxied")
		id := clouds[cloudSite].create(ctx, n)
		join(ctx, n, cloudSite, id)
		m.start()
		initialized(ctx, n, 40*time.Second)
		proxy := clouds[cloudSite].proxy
		Expect(proxy.SetFaults(countproxy.Fault{Name: "gone", Service: "nova", Path: "/servers/", Action: countproxy.ActionStatus, Status: 404,
			Body: "404 page not found"})).To(Succeed())
		DeferCleanup(func() { Expect(heal(proxy)).To(Succeed()) })
		Eventually(func() int { return proxy.Acted("gone") }).WithContext(ctx).Within(time.Minute).Should(BeNumerically(">", 4))
		Expect(getNode(ctx, n)).NotTo(BeNil())
	}, SpecTimeout(6*time.Minute))

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
		Eventually(func() int { return m.logged(`Ending the controllers of a removed site" site="vc"`) }).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(Equal(1))
		Expect(m.logged(`Configuration is invalid, keeping the running controllers" err=.* site="cloud"`)).To(Equal(1))
		n := name("still")
		join(ctx, n, cloudSite, clouds[cloudSite].create(ctx, n))
		initialized(ctx, n, time.Minute)
	}, SpecTimeout(10*time.Minute))
})

// hang lets all requests wait until the client gives up.
func hang(p *countproxy.Proxy) error {
	return p.SetFaults(countproxy.Fault{Name: "hang", Action: countproxy.ActionHang})
}

func heal(p *countproxy.Proxy) error {
	return p.SetFaults()
}
