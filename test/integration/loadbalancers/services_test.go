// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package loadbalancers_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// fromPool is the annotation with the pool whose address a Service wants.
const fromPool = "metallb.io/address-pool"

var _ = Describe("Load balancers on nodes", func() {
	create := func(ctx context.Context, name string, class *string, annotations map[string]string) *corev1.Service {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Annotations: annotations},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class, Selector: map[string]string{"app": "test"},
				Ports: []corev1.ServicePort{{Port: 80}}},
		}
		Expect(shoot.Client.Create(ctx, service)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(shoot.Client.Delete(ctx, service))).To(Succeed()) })
		return service
	}
	// address is that of the Service, empty if it has none.
	address := func(ctx context.Context, service *corev1.Service) func(Gomega) string {
		return func(g Gomega) string {
			current := &corev1.Service{}
			g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(service), current)).To(Succeed())
			if len(current.Status.LoadBalancer.Ingress) == 0 {
				return ""
			}
			return current.Status.LoadBalancer.Ingress[0].IP
		}
	}
	class := func(site string) *string { return new(v1alpha1.LoadBalancerClassPrefix + site) }

	It("should give a Service the address of its site", func(ctx SpecContext) {
		atDefault, atVC := create(ctx, "default", nil, nil), create(ctx, "vc", class(vc), nil)
		Eventually(ctx, address(ctx, atDefault), "30s").Should(MatchRegexp(`^192\.0\.2\.1\d$`))
		Eventually(ctx, address(ctx, atVC), "30s").Should(MatchRegexp(`^192\.0\.2\.1(2[89]|3\d|4[0-3])$`))
	})

	It("should leave Services of others alone", func(ctx SpecContext) {
		for name, class := range map[string]*string{"cloud": class("cloud"), "class-of-default": class(racks),
			"foreign": new("metallb.io/metallb")} {
			Consistently(ctx, address(ctx, create(ctx, name, class, nil)), "3s", "500ms").Should(BeEmpty(), name)
		}
	})

	It("should give addresses of a pool to Services that name it, and again when they are free", func(ctx SpecContext) {
		annotations := map[string]string{fromPool: "named"}
		first := create(ctx, "first", nil, annotations)
		Eventually(ctx, address(ctx, first), "30s").Should(Equal("198.51.100.7"))
		second := create(ctx, "second", nil, annotations)
		Consistently(ctx, address(ctx, second), "2s", "500ms").Should(BeEmpty())
		Expect(shoot.Client.Delete(ctx, first)).To(Succeed())
		Eventually(ctx, address(ctx, second), "30s").Should(Equal("198.51.100.7"))
	})

	It("should have the key with which the speakers of each site talk", func(ctx SpecContext) {
		keys := map[string]bool{}
		for _, site := range []string{racks, vc} {
			secret := &corev1.Secret{}
			Eventually(ctx, func() error {
				return shoot.Client.Get(ctx, client.ObjectKey{Namespace: "metallb-" + site, Name: "memberlist"}, secret)
			}, "30s").Should(Succeed())
			keys[string(secret.Data["secretkey"])] = true
		}
		Expect(keys).To(HaveLen(2))
		Expect(keys).NotTo(HaveKey(""))
	})

	It("should run on the nodes of their site alone", func(ctx SpecContext) {
		for site, nodes := range map[string][]string{racks: {"racks-1", "racks-2"}, vc: {"vc-1"}} {
			Eventually(ctx, func(g Gomega) {
				pods := &corev1.PodList{}
				g.Expect(shoot.Client.List(ctx, pods, client.InNamespace("metallb-"+site), client.MatchingLabels{"component": "speaker"})).To(Succeed())
				g.Expect(pods.Items).To(HaveLen(len(nodes)))
				g.Expect(pods.Items).To(HaveEach(HaveField("Spec.NodeName", BeElementOf(nodes))))

				g.Expect(shoot.Client.List(ctx, pods, client.InNamespace("metallb-"+site),
					client.MatchingLabels{"component": "controller"})).To(Succeed())
				g.Expect(pods.Items).To(ConsistOf(HaveField("Spec.NodeName", BeElementOf(nodes))))
			}, "60s").Should(Succeed())
		}
	})

	It("should do with the permissions that they have, and need all of them", func(ctx SpecContext) {
		for site := range controllers {
			By("restoring what somebody changed")
			state := &unstructured.Unstructured{}
			state.SetAPIVersion("metallb.io/v1beta1")
			state.SetKind("ConfigurationState")
			state.SetNamespace("metallb-" + site)
			state.SetName("controller")
			Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(state), state)).To(Succeed())
			Expect(state.GetLabels()).NotTo(BeEmpty())
			state.SetLabels(nil)
			Expect(shoot.Client.Update(ctx, state)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shoot.Client.Get(ctx, client.ObjectKeyFromObject(state), state)).To(Succeed())
				g.Expect(state.GetLabels()).NotTo(BeEmpty())
			}, "30s").Should(Succeed())

			// The API server writes to its log what it has answered.
			Eventually(shoot.Unused).WithContext(ctx).WithArguments(account(site)).Within(time.Minute).Should(BeEmpty())
		}
	})
})
