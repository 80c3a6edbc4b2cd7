// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("A mistake that only the site can tell", func() {
	const nowhere = "00000000-1111-4222-8333-444444444444"

	It("should stop that site before anything is made there, name the field, and stop no other", func(ctx SpecContext) {
		t := newTenant(ctx, "http://127.0.0.1:5000/v3")
		since := time.Now()
		apply(ctx, t.example("30-cluster.yaml")...)
		setCredentials(ctx, t.name, nil)
		objects := t.example("30-infrastructure.yaml")
		sites, _, err := unstructured.NestedSlice(objects[0].Object, "spec", "providerConfig", "sites")
		Expect(err).NotTo(HaveOccurred())
		sites[1].(map[string]any)["openstack"] = map[string]any{"router": map[string]any{"id": nowhere}}
		Expect(unstructured.SetNestedSlice(objects[0].Object, sites, "spec", "providerConfig", "sites")).To(Succeed())
		apply(ctx, objects...)

		infra := t.infrastructure()
		Expect(finished(ctx, infra, since)).NotTo(Equal(succeeded))
		Expect(infra.Status.LastError.Description).To(And(
			ContainSubstring(`site "cloud2": spec.providerConfig.sites[1].openstack.router.id`), ContainSubstring(nowhere),
			Not(ContainSubstring(`site "cloud":`))))
		Expect(infra.Status.LastError.Codes).To(ConsistOf(gardencorev1beta1.ErrorConfigurationProblem))
		Expect(providerStatus(infra).Sites).To(ConsistOf(And(HaveField("Name", "cloud"), HaveField("Validated", Not(BeEmpty())))))
		Expect(infra.Status.Networking.Nodes).To(HaveLen(2))
		Expect(objectsOf(ctx, t.name, inspectors[1])).To(BeEmpty())
		Eventually(notes).WithContext(ctx).WithArguments(t.name,
			"SiteFailed").Within(time.Minute).Should(ContainElement(HavePrefix(`site "cloud2": spec.providerConfig.sites[1]`)))

		By("correcting it")
		Expect(reconcileInfrastructure(ctx, infra, func(config *v1alpha1.InfrastructureConfig) {
			config.Sites[1].OpenStack = &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public"}
		})).To(Equal(succeeded), "%v", infra.Status.LastError)
		Expect(infra.Status.LastError).To(BeNil())
		status := providerStatus(infra)
		Expect(status.Sites).To(HaveLen(2))
		Expect(infra.Status.EgressCIDRs).To(Equal(append(status.Sites[0].EgressCIDRs, status.Sites[1].EgressCIDRs...)))

		Expect(seed.Client.Delete(ctx, infra)).To(Succeed())
		Eventually(func() error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra) }).
			WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
	}, SpecTimeout(10*time.Minute))
})
