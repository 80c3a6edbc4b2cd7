// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("Rules of Services", func() {
	const (
		served  = "served"
		cleanup = "cleanup"
		hidden  = "hidden"
	)
	rules := serviceRules{defaultSite: "a", sites: []string{"a", "b", "c"}}
	class := func(name string) *string { return new(v1alpha1.LoadBalancerClassPrefix + name) }
	// seen is what the controller of a site does with a Service.
	seen := func(service *corev1.Service) string {
		hasFinalizer := servicehelper.HasLBFinalizer(service)
		switch {
		case service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil:
			return served
		case hasFinalizer && service.Spec.Type != corev1.ServiceTypeLoadBalancer:
			return cleanup
		case hasFinalizer:
			return "finalizer of a Service that it does not serve"
		default:
			return hidden
		}
	}

	DescribeTable("let each Service be one site's",
		func(serviceType corev1.ServiceType, class *string, mark string, expected map[string]string) {
			for _, site := range []string{"a", "b", "c"} {
				service := &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"other", servicehelper.LoadBalancerCleanupFinalizer}},
					Spec:       corev1.ServiceSpec{Type: serviceType, LoadBalancerClass: class},
				}
				if mark != "" {
					service.Annotations = map[string]string{v1alpha1.AnnotationLoadBalancerSite: mark}
				}
				transformed, err := rules.transform(site)(service)
				Expect(err).NotTo(HaveOccurred())
				again, err := rules.transform(site)(transformed.(*corev1.Service).DeepCopy())
				Expect(err).NotTo(HaveOccurred())
				Expect(again).To(Equal(transformed), "site %q", site)
				want := expected[site]
				if want == "" {
					want = hidden
				}
				Expect(seen(transformed.(*corev1.Service))).To(Equal(want), "site %q", site)
				Expect(service.Finalizers).To(ContainElement("other"))
			}
		},
		Entry("no class", corev1.ServiceTypeLoadBalancer, nil, "", map[string]string{"a": served}),
		Entry("no class, the default site's", corev1.ServiceTypeLoadBalancer, nil, "a", map[string]string{"a": served}),
		Entry("no class, was at another default site", corev1.ServiceTypeLoadBalancer, nil, "b", map[string]string{"b": served}),
		Entry("no class, was at a site that is gone", corev1.ServiceTypeLoadBalancer, nil, "x", map[string]string{"a": served}),
		Entry("class of a site", corev1.ServiceTypeLoadBalancer, class("b"), "", map[string]string{"b": served}),
		Entry("class of a site that has it", corev1.ServiceTypeLoadBalancer, class("b"), "b", map[string]string{"b": served}),
		Entry("class of a site, another still has it", corev1.ServiceTypeLoadBalancer, class("b"), "c", map[string]string{"c": cleanup}),
		Entry("class of a site, the default site still has it", corev1.ServiceTypeLoadBalancer, class("b"), "a", map[string]string{"a": cleanup}),
		Entry("class of a site that is gone", corev1.ServiceTypeLoadBalancer, class("x"), "x", map[string]string{}),
		Entry("class of a site, was at one that is gone", corev1.ServiceTypeLoadBalancer, class("b"), "x", map[string]string{"b": served}),
		Entry("class of an unknown site", corev1.ServiceTypeLoadBalancer, class("x"), "", map[string]string{}),
		Entry("class of somebody else", corev1.ServiceTypeLoadBalancer, new("metallb.io/metallb"), "", map[string]string{}),
		Entry("class that is the name of a site only", corev1.ServiceTypeLoadBalancer, new("b"), "", map[string]string{}),
		Entry("class of somebody else, a site still has it", corev1.ServiceTypeLoadBalancer, new("metallb.io/metallb"), "b",
			map[string]string{"b": cleanup}),
		Entry("other type, a site still has it", corev1.ServiceTypeClusterIP, nil, "b", map[string]string{"b": cleanup}),
		Entry("other type, the default site still has it", corev1.ServiceTypeNodePort, nil, "a", map[string]string{"a": cleanup}),
		Entry("other type, nobody marked it", corev1.ServiceTypeClusterIP, nil, "", map[string]string{"a": cleanup}),
	)

	DescribeTable("let the first site clean up what a site that is gone left",
		func(rules serviceRules, change func(*corev1.Service), expected map[string]string) {
			for _, site := range []string{"a", "b"} {
				service := &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{
						DeletionTimestamp: new(metav1.Now()),
						Annotations:       map[string]string{v1alpha1.AnnotationLoadBalancerSite: "x"},
						Finalizers:        []string{servicehelper.LoadBalancerCleanupFinalizer},
					},
					Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class("x")},
				}
				change(service)
				releases := rules.releases(site, service)
				transformed, err := rules.transform(site)(service)
				Expect(err).NotTo(HaveOccurred())
				want := expected[site]
				if want == "" {
					want = hidden
				}
				Expect(seen(transformed.(*corev1.Service))).To(Equal(want), "site %q", site)
				Expect(releases).To(Equal(want == cleanup), "site %q", site)
			}
		},
		Entry("its class", serviceRules{defaultSite: "b", sites: []string{"a", "b"}}, func(*corev1.Service) {}, map[string]string{"a": cleanup}),
		Entry("its class, the default site has no load balancers here", serviceRules{defaultSite: "racks", sites: []string{"a", "b"}},
			func(*corev1.Service) {}, map[string]string{"a": cleanup}),
		Entry("no class", serviceRules{defaultSite: "b", sites: []string{"a", "b"}},
			func(s *corev1.Service) { s.Spec.LoadBalancerClass = nil }, map[string]string{"b": served}),
		Entry("no class, the default site has no load balancers here", serviceRules{defaultSite: "racks", sites: []string{"a", "b"}},
			func(s *corev1.Service) { s.Spec.LoadBalancerClass = nil }, map[string]string{"a": cleanup}),
		Entry("other type, not deleted", serviceRules{defaultSite: "b", sites: []string{"a", "b"}},
			func(s *corev1.Service) {
				s.Spec, s.DeletionTimestamp = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}, nil
			}, map[string]string{"a": cleanup}),
		Entry("other type, not deleted, the default site has no load balancers here",
			serviceRules{defaultSite: "racks", sites: []string{"a", "b"}},
			func(s *corev1.Service) {
				s.Spec, s.DeletionTimestamp = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}, nil
			}, map[string]string{"a": cleanup}),
		Entry("its class, not deleted", serviceRules{defaultSite: "b", sites: []string{"a", "b"}},
			func(s *corev1.Service) { s.DeletionTimestamp = nil }, map[string]string{}),
		Entry("nobody marked it", serviceRules{defaultSite: "b", sites: []string{"a", "b"}},
			func(s *corev1.Service) { s.Annotations = nil }, map[string]string{}),
	)

	DescribeTable("let each site take the finalizer that nobody took for long",
		func(ctx SpecContext, change func(*corev1.Service), removed bool) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Name: "web", Namespace: "default", UID: "1",
					DeletionTimestamp: new(metav1.NewTime(time.Now().Add(-time.Hour))),
					Annotations:       map[string]string{v1alpha1.AnnotationLoadBalancerSite: "x"},
					Finalizers:        []string{"other", servicehelper.LoadBalancerCleanupFinalizer},
				},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class("x")},
			}
			change(service)
			client := fake.NewClientset(service.DeepCopy())
			transformed, err := rules.transform("b")(service.DeepCopy())
			Expect(err).NotTo(HaveOccurred())

			s := &set{siteConfig: &siteConfig{Site: &v1alpha1.CloudControllerSite{Name: "b"}}, client: client}
			s.releaser(ctx, nil, rules).OnUpdate(transformed, transformed)

			now, err := client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(now.Finalizers).To(ContainElement("other"))
			Expect(servicehelper.HasLBFinalizer(now)).To(Equal(!removed))
			if !removed {
				return
			}
			again, err := rules.transform("b")(now)
			Expect(err).NotTo(HaveOccurred())
			client.ClearActions()
			s.releaser(ctx, nil, rules).OnUpdate(again, again)
			Expect(client.Actions()).To(BeEmpty())
		},
		Entry("its class", func(*corev1.Service) {}, true),
		Entry("no class", func(s *corev1.Service) { s.Spec.LoadBalancerClass = nil }, true),
		Entry("other type", func(s *corev1.Service) { s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP} }, true),
		Entry("deleted a moment ago", func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.Now()) }, false),
		Entry("not deleted", func(s *corev1.Service) { s.DeletionTimestamp = nil }, false),
		Entry("another site has it", func(s *corev1.Service) { s.Annotations[v1alpha1.AnnotationLoadBalancerSite] = "a" }, false),
		Entry("nobody marked it", func(s *corev1.Service) { s.Annotations = nil }, false),
	)

	It("leave Services without a class to others if the default site has no load balancers", func() {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
		transformed, err := serviceRules{defaultSite: "racks", sites: []string{"a"}}.transform("a")(service)
		Expect(err).NotTo(HaveOccurred())
		Expect(seen(transformed.(*corev1.Service))).To(Equal(hidden))
	})

	It("leave Services without a class to others if there is no default site", func() {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
		transformed, err := serviceRules{sites: []string{"a"}}.transform("a")(service)
		Expect(err).NotTo(HaveOccurred())
		Expect(seen(transformed.(*corev1.Service))).To(Equal(hidden))
	})

	It("are told once when they change", func() {
		source := newRuleSource()
		none, changed := source.get()
		Expect(none).To(BeNil())
		source.set(rules)
		Expect(changed).To(BeClosed())
		current, changed := source.get()
		Expect(*current).To(Equal(rules))
		source.set(serviceRules{defaultSite: "a", sites: []string{"a", "b", "c"}})
		Expect(changed).NotTo(BeClosed())
		source.set(serviceRules{defaultSite: "b", sites: []string{"a", "b", "c"}})
		Expect(changed).To(BeClosed())
	})
})
