// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
	// balancing is how long a load balancer takes at most.
	balancing = 90 * time.Second
)

var _ = Describe("Services", Ordered, func() {
	const classOfOthers = "metallb.io/metallb"
	var (
		m     *manager
		class = func(site string) *string { return new(v1alpha1.LoadBalancerClassPrefix + site) }
	)

	create := func(ctx context.Context, name string, class *string, finalizers ...string) {
		GinkgoHelper()
		_, err := shootAPI.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class,
				Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	get := func(ctx context.Context, name string) *corev1.Service {
		GinkgoHelper()
		service, err := shootAPI.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		Expect(err).NotTo(HaveOccurred())
		return service
	}
	patch := func(ctx context.Context, name string, spec map[string]any) {
		GinkgoHelper()
		data, err := json.Marshal(map[string]any{"spec": spec})
		Expect(err).NotTo(HaveOccurred())
		_, err = shootAPI.CoreV1().Services(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	remove := func(ctx context.Context, name string) {
		GinkgoHelper()
		Expect(shootAPI.CoreV1().Services(metav1.NamespaceDefault).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	}
	// balancersOf are the Services with a load balancer in the project of a site.
	balancersOf := func(ctx context.Context, site string) []string {
		GinkgoHelper()
		objects, err := clouds[site].inspector.Objects(ctx, "kube_service_"+shoot+"_")
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, o := range objects {
			if o.Kind == "load balancer" {
				names = append(names, strings.TrimPrefix(o.Name, "kube_service_"+shoot+"_default_"))
			}
		}
		slices.Sort(names)
		return names
	}
	expectServed := func(ctx context.Context, name, site string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			service := get(ctx, name)
			g.Expect(service.Status.LoadBalancer.Ingress).To(HaveLen(1))
			g.Expect(service.Finalizers).To(ConsistOf(finalizer))
			g.Expect(service.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationLoadBalancerSite, site))
		}).WithContext(ctx).Within(balancing).ProbeEvery(500 * time.Millisecond).Should(Succeed())
		for other := range clouds {
			if other == site {
				Expect(balancersOf(ctx, other)).To(ContainElement(name))
			} else {
				Expect(balancersOf(ctx, other)).NotTo(ContainElement(name))
			}
		}
	}
	expectFree := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			service := get(ctx, name)
			g.Expect(service.Finalizers).To(BeEmpty())
			g.Expect(service.Annotations).To(BeEmpty())
			for site := range clouds {
				g.Expect(balancersOf(ctx, site)).NotTo(ContainElement(name))
			}
		}).WithContext(ctx).Within(balancing).ProbeEvery(500 * time.Millisecond).Should(Succeed())
	}

	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) {
			if get(ctx, "foreign") != nil {
				data := []byte(`{"metadata": {"finalizers": null}}`)
				_, err := shootAPI.CoreV1().Services(metav1.NamespaceDefault).Patch(ctx, "foreign", types.MergePatchType, data, metav1.PatchOptions{})
				Expect(err).NotTo(HaveOccurred())
			}
		})
		m = newManager()
		m.start()
		m.waitFor(ctx, cloudSite, anotherSite, vcSite)
		for name, c := range clouds {
			n := shoot + "-member-" + name
			id := c.create(ctx, n)
			node(ctx, n, name, tainted, ready, withSystemUUID(id[len("openstack:///"):]))
			initialized(ctx, n, 20*time.Second)
			// Its addresses are written behind the taint. Members without one are left out, and not added later.
			Eventually(func() []corev1.NodeAddress { return getNode(ctx, n).Status.Addresses }).WithContext(ctx).Within(time.Minute).
				Should(ContainElement(HaveField("Type", corev1.NodeInternalIP)))
		}
		DeferCleanup(func(ctx SpecContext) {
			services, err := shootAPI.CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
			for _, service := range services.Items {
				if service.Name == "kubernetes" || service.Name == "foreign" {
					continue
				}
				_ = shootAPI.CoreV1().Services(metav1.NamespaceDefault).Delete(ctx, service.Name, metav1.DeleteOptions{})
				Eventually(func() *corev1.Service { return get(ctx, service.Name) }).Within(balancing).Should(BeNil())
			}
		}, NodeTimeout(10*time.Minute))
	}, NodeTimeout(6*time.Minute))

	It("should be served by the site that their class names, by the default site, or by nobody", func(ctx SpecContext) {
		create(ctx, "classless", nil)
		create(ctx, "classy", class(anotherSite))
		create(ctx, "foreign", new(classOfOthers), finalizer)
		create(ctx, "without", class(vcSite))
		expectServed(ctx, "classless", cloudSite)
		expectServed(ctx, "classy", anotherSite)
		Expect(get(ctx, "classy").Spec.LoadBalancerClass).To(Equal(class(anotherSite)))
		Expect(balancersOf(ctx, cloudSite)).To(Equal([]string{"classless"}))
		Expect(balancersOf(ctx, anotherSite)).To(Equal([]string{"classy"}))

		for _, name := range []string{"foreign", "without"} {
			Expect(get(ctx, name).Annotations).To(BeEmpty())
			Expect(get(ctx, name).Status.LoadBalancer.Ingress).To(BeEmpty())
		}
		Expect(get(ctx, "foreign").Finalizers).To(ConsistOf(finalizer))
		Expect(members(ctx, clouds[cloudSite])).To(ConsistOf(HavePrefix("10.250.0.")))
		Expect(members(ctx, clouds[anotherSite])).To(ConsistOf(HavePrefix("10.250.4.")))
	}, SpecTimeout(10*time.Minute))

	It("should let the site clean up that has the load balancer, whatever their type and class are then", func(ctx SpecContext) {
		patch(ctx, "classy", map[string]any{"type": "ClusterIP", "loadBalancerClass": nil})
		expectFree(ctx, "classy")
		Expect(balancersOf(ctx, cloudSite)).To(Equal([]string{"classless"}))

		By("moving it to the default site, and back while the other cleans up")
		patch(ctx, "classy", map[string]any{"type": "LoadBalancer"})
		expectServed(ctx, "classy", cloudSite)
		patch(ctx, "classy", map[string]any{"type": "ClusterIP"})
		patch(ctx, "classy", map[string]any{"type": "LoadBalancer", "loadBalancerClass": class(anotherSite)})
		expectServed(ctx, "classy", anotherSite)
		expectServed(ctx, "classless", cloudSite)
		Expect(get(ctx, "foreign").Finalizers).To(ConsistOf(finalizer))
	}, SpecTimeout(12*time.Minute))

	It("should stay at their site when another becomes the default, and new ones go there", func(ctx SpecContext) {
		m.config.DefaultSite = anotherSite
		m.writeConfig()
		Eventually(func() int { return m.logged("Starting service controller") }).WithContext(ctx).Within(2 * time.Minute).
			ProbeEvery(time.Second).Should(BeNumerically(">=", 4))
		create(ctx, "newer", nil)
		expectServed(ctx, "newer", anotherSite)
		expectServed(ctx, "classless", cloudSite)
		for _, site := range []string{cloudSite, anotherSite, vcSite} {
			Expect(m.logged(`Starting the controllers of a site" site="`+site)).To(Equal(1), site)
		}
	}, SpecTimeout(8*time.Minute))

	// The Octavia of the landscape does not change the members of a load balancer that was made with them.
	It("should have the nodes of all sites as members where that is asked for", func(ctx SpecContext) {
		m.config.Sites[0].OpenStack.LoadBalancer.Members = v1alpha1.LoadBalancerMembersAll
		m.writeConfig()
		Eventually(func() int { return m.logged(`Running the controllers of a site" site="cloud"`) }).WithContext(ctx).Within(2 * time.Minute).
			ProbeEvery(time.Second).Should(Equal(2))
		before := members(ctx, clouds[cloudSite])
		create(ctx, "wide", class(cloudSite))
		expectServed(ctx, "wide", cloudSite)
		Expect(members(ctx, clouds[cloudSite])).To(ConsistOf(before[0], HavePrefix("10.250.0."), HavePrefix("10.250.4.")))
		Expect(members(ctx, clouds[anotherSite])).To(HaveEach(HavePrefix("10.250.4.")))
	}, SpecTimeout(8*time.Minute))

	It("should go only when their load balancers are gone", func(ctx SpecContext) {
		for _, name := range []string{"classless", "classy", "newer", "wide", "without"} {
			remove(ctx, name)
		}
		for _, name := range []string{"classless", "classy", "newer", "wide", "without"} {
			Eventually(func() *corev1.Service { return get(ctx, name) }).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).
				Should(BeNil(), name)
		}
		for site := range clouds {
			Expect(balancersOf(ctx, site)).To(BeEmpty())
		}

		remove(ctx, "foreign")
		Consistently(func() []string { return get(ctx, "foreign").Finalizers }).WithContext(ctx).WithTimeout(5 * time.Second).
			Should(ConsistOf(finalizer))
		Expect(m.process.Check()).To(Succeed())
	}, SpecTimeout(8*time.Minute))

	suite.NightlyIt("should be served if they are older than the process", func(ctx SpecContext) {
		m.process.Stop(ctx)
		create(ctx, "early", class(anotherSite))
		Expect(m.process.Start()).To(Succeed())
		expectServed(ctx, "early", anotherSite)
		remove(ctx, "early")
		Eventually(func() *corev1.Service { return get(ctx, "early") }).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).Should(BeNil())
	}, SpecTimeout(8*time.Minute))

	It("should not hang on a site that is removed", func(ctx SpecContext) {
		config := *m.config
		Expect(config.DefaultSite).To(Equal(anotherSite))
		create(ctx, "mover", nil)
		create(ctx, "turned", class(anotherSite))
		create(ctx, "stranded", class(anotherSite))
		for _, name := range []string{"mover", "turned", "stranded"} {
			expectServed(ctx, name, anotherSite)
		}
		before := get(ctx, "mover").Status.LoadBalancer

		By("removing the site as the extension does: its load balancers first")
		Expect(clouds[anotherSite].inspector.Sweep(ctx, "kube_service_"+shoot+"_")).To(Succeed())
		m.config.DefaultSite = cloudSite
		m.config.Sites = slices.DeleteFunc(slices.Clone(config.Sites), func(s v1alpha1.CloudControllerSite) bool { return s.Name == anotherSite })
		m.writeConfig()

		Eventually(func() corev1.LoadBalancerStatus { return get(ctx, "mover").Status.LoadBalancer }).
			WithContext(ctx).Within(balancing).ProbeEvery(500 * time.Millisecond).ShouldNot(Equal(before))
		expectServed(ctx, "mover", cloudSite)
		Expect(get(ctx, "stranded").Finalizers).To(ConsistOf(finalizer))
		remove(ctx, "stranded")
		patch(ctx, "turned", map[string]any{"type": "ClusterIP", "loadBalancerClass": nil})
		Eventually(func() *corev1.Service { return get(ctx, "stranded") }).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).
			Should(BeNil())
		expectFree(ctx, "turned")
		Expect(get(ctx, "turned").Status.LoadBalancer.Ingress).To(BeEmpty())

		By("taking the site back")
		*m.config = config
		m.writeConfig()
		for _, name := range []string{"mover", "turned"} {
			remove(ctx, name)
			Eventually(func() *corev1.Service { return get(ctx, name) }).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).
				Should(BeNil(), name)
		}
	}, SpecTimeout(8*time.Minute))

	It("should neither get the load balancer of another cluster nor take it with them", func(ctx SpecContext) {
		const name = "web"
		c := clouds[cloudSite]
		balancerName := "kube_service_" + strings.Replace(shoot, "--ccm--", "--victim--", 1) + "_default_" + name
		victim, err := loadbalancers.Create(ctx, c.balancing,
			loadbalancers.CreateOpts{Name: balancerName, VipSubnetID: c.status.SubnetID, Tags: []string{balancerName}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		exists := func(ctx context.Context) (bool, error) {
			_, err := loadbalancers.Get(ctx, c.balancing, victim.ID).Extract()
			if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
				return false, nil
			}
			return true, err
		}
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(loadbalancers.Delete(ctx, c.balancing, victim.ID,
				loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())).To(Succeed())
			Eventually(exists).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).Should(BeFalse())
		}, NodeTimeout(4*time.Minute))
		Eventually(func(g Gomega) {
			shown, err := loadbalancers.Get(ctx, c.balancing, victim.ID).Extract()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(shown.ProvisioningStatus).To(Equal("ACTIVE"))
		}).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).Should(Succeed())

		_, err = shootAPI.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"loadbalancer.openstack.org/load-balancer-id": victim.ID}},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class(cloudSite),
				Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			events, err := shootAPI.CoreV1().Events(metav1.NamespaceDefault).List(ctx,
				metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(events.Items).To(ContainElement(HaveField("Message", And(
				ContainSubstring("metadata.annotations[loadbalancer.openstack.org/load-balancer-id]"), ContainSubstring("was not made for this shoot"),
				Not(ContainSubstring("victim")),
			))))
		}).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).Should(Succeed())
		Expect(get(ctx, name).Status.LoadBalancer.Ingress).To(BeEmpty())

		remove(ctx, name)
		Eventually(func() *corev1.Service { return get(ctx, name) }).WithContext(ctx).Within(balancing).ProbeEvery(time.Second).Should(BeNil())
		shown, err := loadbalancers.Get(ctx, c.balancing, victim.ID).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(shown).To(And(HaveField("Name", balancerName), HaveField("Tags", ConsistOf(balancerName)), HaveField("Listeners", BeEmpty()),
			HaveField("ProvisioningStatus", "ACTIVE")))
	}, SpecTimeout(10*time.Minute))

	It("should have members that get back the zone that they lost", func(ctx SpecContext) {
		name := shoot + "-member-" + cloudSite
		_, err := shootAPI.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"`+corev1.LabelTopologyZone+`":null}}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			n, err := shootAPI.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(n.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, Not(BeEmpty())))
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(500 * time.Millisecond).Should(Succeed())
	}, SpecTimeout(4*time.Minute))
})
